#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows the README and getting_started.md as a new user would, from an empty folder: their sh and
cmake blocks, but for those that install packages. With a prefix in place of /usr/local."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import doc_blocks


def page(name):
    """The blocks of a page by their language, and whether they are programs."""
    found = {"sh": [], "cmake": [], "program": []}
    for block in doc_blocks.blocks():
        if block.page == ROOT / name:
            kind = "program" if block.is_program else block.language
            found.setdefault(kind, []).append(block)
    return found


def shell(block, where, *changes, **environment):
    script = block.code
    for was, becomes in changes:
        assert was in script, f"{block.name}: no longer says '{was}'"
        script = script.replace(was, becomes)
    ran = subprocess.run(["sh", "-e", "-c", script], cwd=where, env={**os.environ, **environment},
                         capture_output=True, text=True, check=False)
    if ran.returncode != 0 or not ran.stdout.endswith(block.prints):
        raise SystemExit(f"{block.name}: ended with {ran.returncode}\n{ran.stdout}{ran.stderr}")


def project(where, cmake, program):
    where.mkdir()
    (where / "CMakeLists.txt").write_text(cmake.code, encoding="utf-8")
    (where / "main.cpp").write_text(program.code, encoding="utf-8")
    return where


def getting_started(scratch):
    guide = page("docs/guide/getting_started.md")
    hello = project(scratch / "hello", guide["cmake"][0], guide["program"][0])
    (hello / "cadre").symlink_to(ROOT)
    shell(guide["sh"][1], hello)  # the first installs packages


def readme(scratch):
    blocks = page("README.md")
    prefix = scratch / "prefix"
    install = next(b for b in blocks["sh"] if "cmake --install" in b.code)
    shell(install, scratch, ("cmake -B", f"cmake -S '{ROOT}' -B"),
          ("sudo cmake --install build/install", f"cmake --install build/install --prefix {prefix}"))
    service = project(scratch / "service", blocks["cmake"][0], blocks["program"][0])
    build = f"cmake -B build -DCMAKE_PREFIX_PATH={prefix} && cmake --build build && build/my_service"
    subprocess.run(build, shell=True, cwd=service, check=True, stdout=subprocess.DEVNULL)
    by_pkg_config = next(b for b in blocks["sh"] if "pkg-config" in b.code)
    shell(by_pkg_config, service, PKG_CONFIG_PATH=str(next(prefix.rglob("cadre.pc")).parent))


with tempfile.TemporaryDirectory() as directory:
    getting_started(pathlib.Path(directory))
    readme(pathlib.Path(directory))
print("README and getting_started.md hold what they say")
