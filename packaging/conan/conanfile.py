# SPDX-License-Identifier: Apache-2.0
"""Conan 2 recipe. From the root of the repository: conan create packaging/conan -s compiler.cppstd=20"""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.scm import Version


class CadreConan(ConanFile):
    name = "cadre"
    version = "0.1.0"
    description = "Executors, futures and blocking queues in the manner of java.util.concurrent"
    license = "Apache-2.0"
    topics = ("thread-pool", "executor", "future", "concurrency", "scheduler")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "manage": [True, False]}
    default_options = {"shared": False, "fPIC": True, "manage": False}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "docs/cadrectl.1"):
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def requirements(self):
        if self.options.manage:
            self.requires("yaml-cpp/0.8.0")
            self.requires("tomlplusplus/3.4.0")
            self.requires("nlohmann_json/3.11.3")
            self.requires("libcurl/[>=7.87 <9]")
            self.requires("prometheus-cpp/1.1.0")
            self.requires("openssl/[>=3 <4]")
            self.requires("cpp-httplib/0.14.3")
            self.requires("cli11/2.4.2")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25 <4]")
        if self.options.manage:
            self.tool_requires("pkgconf/[>=2.1 <3]")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("cadre is for Linux")
        check_min_cppstd(self, 20)
        least = {"gcc": "12", "clang": "14"}.get(str(self.settings.compiler))
        if least and Version(self.settings.compiler.version) < least:
            raise ConanInvalidConfiguration(f"cadre needs {self.settings.compiler} {least}")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("DEVELOPER", "BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_BENCH"):
            toolchain.cache_variables[f"CADRE_{part}"] = False
        toolchain.cache_variables["CADRE_BUILD_MANAGE"] = bool(self.options.manage)
        toolchain.generate()
        CMakeDeps(self).generate()
        if self.options.manage:
            PkgConfigDeps(self).generate()  # cpp-httplib is found by its .pc file

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan makes these itself, by package_info().
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "cadre")
        self.cpp_info.set_property("cmake_target_name", "cadre::all")  # else it has the name of the core's
        core = self.cpp_info.components["core"]
        core.set_property("cmake_target_name", "cadre::cadre")
        core.set_property("pkg_config_name", "cadre")
        core.libs = ["cadre"]
        core.system_libs = ["pthread"]
        if not self.options.shared:
            core.defines = ["CADRE_STATIC"]
        if self.options.manage:
            manage = self.cpp_info.components["manage"]
            manage.set_property("cmake_target_name", "cadre::manage")
            manage.libs = ["cadre_manage"]
            manage.requires = [
                "core",
                "yaml-cpp::yaml-cpp",
                "tomlplusplus::tomlplusplus",
                "nlohmann_json::nlohmann_json",
                "libcurl::libcurl",
                "prometheus-cpp::prometheus-cpp-core",
                "openssl::crypto",
                "cpp-httplib::cpp-httplib",
                "cli11::cli11",
            ]
