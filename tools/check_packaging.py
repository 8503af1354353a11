#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the recipes in packaging/ and debian/ as far as it goes without Conan and vcpkg themselves.

All name the version of CMakeLists.txt. The Conan recipes are imported and their methods called with
stand-ins of Conan's classes; vcpkg.json has the fields that vcpkg demands, and no other; the portfile
is run by CMake with stand-ins of vcpkg's functions, which must get arguments that they know.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
PORT = ROOT / "packaging/vcpkg/ports/cadre"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

# Keywords of the functions of vcpkg that the portfile may use.
VCPKG_FUNCTIONS = {
    "vcpkg_check_features": {"OUT_FEATURE_OPTIONS", "FEATURES", "INVERTED_FEATURES"},
    "vcpkg_cmake_configure": {"SOURCE_PATH", "OPTIONS", "OPTIONS_RELEASE", "OPTIONS_DEBUG"},
    "vcpkg_cmake_install": set(),
    "vcpkg_cmake_config_fixup": {"CONFIG_PATH", "PACKAGE_NAME"},
    "vcpkg_fixup_pkgconfig": set(),
    "vcpkg_copy_tools": {"TOOL_NAMES", "AUTO_CLEAN"},
    "vcpkg_install_copyright": {"FILE_LIST", "COMMENT"},
}


def version():
    return re.search(r"project\(cadre VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def versions_elsewhere():
    yield "debian/changelog", re.match(r"cadre \(([\d.]+)", (ROOT / "debian/changelog").read_text())[1]
    header = (ROOT / "include/cadre/version.hpp").read_text()
    parts = [re.search(rf"version_{p} = (\d+)", header)[1] for p in ("major", "minor", "patch")]
    yield "include/cadre/version.hpp", ".".join(parts)
    yield "packaging/conan/conanfile.py", recipe("conanfile.py").CadreConan.version
    yield "packaging/vcpkg", json.loads((PORT / "vcpkg.json").read_text())["version-semver"]
    soname = ".".join(version().split(".")[:2])
    control = (ROOT / "debian/control").read_text()
    for name in ("libcadre", "libcadre-manage"):
        if f"Package: {name}{soname}\n" not in control:
            yield f"debian/control, package {name}{soname}", "missing"


def recipe(name):
    """A conanfile, imported with a stand-in of Conan."""
    conan = types.ModuleType("conan")
    conan.ConanFile = type("ConanFile", (), {})
    errors = types.ModuleType("conan.errors")
    errors.ConanInvalidConfiguration = type("ConanInvalidConfiguration", (Exception,), {})
    fakes = {"conan": conan, "conan.errors": errors}
    for tool in ("build", "cmake", "files", "gnu", "scm"):
        fakes[f"conan.tools.{tool}"] = mock.MagicMock()
    fakes["conan.tools"] = mock.MagicMock()
    with mock.patch.dict(sys.modules, fakes), mock.patch("sys.dont_write_bytecode", True):
        spec = importlib.util.spec_from_file_location("recipe", ROOT / "packaging/conan" / name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def conan_complaints():
    made = recipe("conanfile.py").CadreConan
    for field in ("name", "version", "description", "license", "settings", "options", "package_type"):
        if not getattr(made, field, None):
            yield f"packaging/conan/conanfile.py: has no {field}"
    if set(made.options) != set(made.default_options):
        yield "packaging/conan/conanfile.py: options and default_options differ"
    for manage in (False, True):
        package = made()
        package.options = mock.MagicMock(shared=False, manage=manage)
        package.settings = mock.MagicMock(os="Linux")
        package.requires = mock.MagicMock()
        package.tool_requires = mock.MagicMock()
        package.cpp_info = mock.MagicMock()
        package.recipe_folder = package.source_folder = package.package_folder = "."
        package.export_sources_folder = "."
        for step in ("export_sources", "configure", "requirements", "build_requirements", "validate",
                     "layout", "generate", "build", "package", "package_info"):
            getattr(package, step)()
        asked = {call.args[0].split("/")[0] for call in package.requires.call_args_list}
        if manage != bool(asked):
            yield f"packaging/conan/conanfile.py: with manage={manage} requires {asked or 'nothing'}"
    if not hasattr(recipe("test_package/conanfile.py").CadreTest, "test"):
        yield "packaging/conan/test_package: has no test()"


def dependencies(listed):
    for entry in listed:
        if isinstance(entry, str):
            entry = {"name": entry}
        unknown = set(entry) - {"name", "host", "default-features", "features", "version>=", "platform"}
        if unknown or not NAME.fullmatch(entry.get("name", "")):
            yield f"{PORT.name}/vcpkg.json: dependency {entry}"


def vcpkg_complaints():
    port = json.loads((PORT / "vcpkg.json").read_text())
    known = {"name", "version-semver", "description", "homepage", "license", "supports", "dependencies",
             "features"}
    if set(port) - known or port.get("name") != PORT.name:
        yield f"vcpkg.json: fields {sorted(set(port) - known)}, name {port.get('name')}"
    yield from dependencies(port["dependencies"])
    for name, feature in port["features"].items():
        if not NAME.fullmatch(name) or set(feature) != {"description", "dependencies"}:
            yield f"vcpkg.json: feature {name}"
        yield from dependencies(feature["dependencies"])

    script = ["cmake_minimum_required(VERSION 3.25)", "set(CURRENT_PACKAGES_DIR /nowhere)",
              "set(PORT cadre)", "set(FEATURES manage)", "macro(file)", "endmacro()"]
    for function, keywords in VCPKG_FUNCTIONS.items():
        script += [f"function({function})", "foreach(word ${ARGN})",
                   'if(word MATCHES "^[A-Z_]+$" AND NOT word MATCHES '
                   f'"^({"|".join(sorted(keywords) or ["-"])}|CADRE_[A-Z_]+)$")',
                   f'message(FATAL_ERROR "{function} does not know ${{word}}")', "endif()",
                   "endforeach()", "endfunction()"]
    script += [f'include("{PORT / "portfile.cmake"}")',
               'if(NOT EXISTS "${SOURCE_PATH}/CMakeLists.txt")',
               'message(FATAL_ERROR "SOURCE_PATH is ${SOURCE_PATH}")', "endif()"]
    with tempfile.NamedTemporaryFile("w", suffix=".cmake") as file:
        file.write("\n".join(script))
        file.flush()
        ran = subprocess.run(["cmake", "-P", file.name], check=False, capture_output=True, text=True)
    if ran.returncode != 0:
        yield f"portfile.cmake: {ran.stderr.strip()}"


def main():
    found = [f"{where}: {other} is not {version()}" for where, other in versions_elsewhere()
             if other != version()]
    found += conan_complaints()
    found += vcpkg_complaints()
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
