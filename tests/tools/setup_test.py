#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/setup.sh, on systems that are played by stand-ins for dpkg-query, apt-get, id and sudo; and the
home that the Makefile gives to whoever has none."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SETUP = ROOT / "tools/setup.sh"
WANTED = re.search(r'^packages="(.*?)"', SETUP.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
NEEDED = [entry.partition("|")[0] for entry in WANTED.split()]


class System:
    """What dpkg-query says of packages, by name: "ii" unless told. Only `commands` are there."""

    def __init__(self, user=0, commands=("npm", "apt-get"), **status):
        self.user, self.commands = user, commands
        self.packages = {name: "ii " for name in NEEDED} | status

    def setup(self):
        """The exit code of the script, what it said, and the commands it ran."""
        with tempfile.TemporaryDirectory() as directory:
            bin = pathlib.Path(directory)
            for tool in ("sed", "tr", "env"):
                (bin / tool).symlink_to(shutil.which(tool))
            ran = bin / "ran"
            ran.touch()
            listed = "".join(f"{status}{name}\n" for name, status in self.packages.items() if status)
            (bin / "list").write_text(listed, encoding="utf-8")
            self.stand_in(bin / "dpkg-query", f"while read -r line; do echo \"$line\"; done <'{bin}/list'")
            self.stand_in(bin / "id", f"echo {self.user}")
            for command in self.commands:
                then = '"$@"' if command == "sudo" else ""
                self.stand_in(bin / command, f"echo {command} \"$@\" >>'{ran}'\n{then}")
            done = subprocess.run(["/bin/sh", SETUP], env={"PATH": directory}, capture_output=True, text=True,
                                  check=False)
            return done.returncode, done.stdout + done.stderr, ran.read_text(encoding="utf-8").splitlines()

    @staticmethod
    def stand_in(path, script):
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)


class Setup(unittest.TestCase):
    def test_does_nothing_where_nothing_is_missing(self):
        self.assertEqual(System().setup(), (0, "", []))

    def test_installs_what_is_missing(self):
        code, _, ran = System(cmake="", spin="").setup()
        self.assertEqual(code, 0)
        self.assertRegex(ran[-1], r"^apt-get install .*--no-install-recommends cmake spin$")

    def test_takes_either_of_two_packages(self):
        self.assertEqual(System(**{"pkg-config": "", "pkgconf": "ii "}).setup(), (0, "", []))

    def test_installs_what_was_removed_but_for_its_settings(self):
        _, _, ran = System(chromium="rc ").setup()
        self.assertRegex(ran[-1], r" chromium$")

    def test_leaves_a_package_on_hold_alone(self):
        self.assertEqual(System(cmake="hi ").setup(), (0, "", []))

    def test_asks_sudo_where_it_is_not_root(self):
        _, _, ran = System(user=1000, commands=("npm", "apt-get", "sudo"), spin="").setup()
        self.assertEqual(ran[0], "sudo apt-get update -q")

    def test_says_without_sudo_what_root_is_to_install(self):
        code, said, ran = System(user=1000, spin="").setup()
        self.assertEqual((code, ran), (1, []))
        self.assertRegex(said, r"\napt-get update && apt-get install --no-install-recommends spin\n$")


class Home(unittest.TestCase):
    @staticmethod
    def of(environment):
        """What a command of the Makefile has for a home."""
        told = subprocess.run(["make", "--eval", "home: ; @echo $$HOME", "-s", "-C", ROOT, "home"], env=environment,
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        return told.rstrip("\n")

    def test_is_in_the_build_for_who_has_none(self):
        self.assertEqual(self.of({"PATH": os.environ["PATH"]}), f"{ROOT}/build/home")
        self.assertEqual(self.of({"PATH": os.environ["PATH"], "HOME": "/nobody/has/this"}), f"{ROOT}/build/home")

    def test_is_left_alone_otherwise(self):
        with tempfile.TemporaryDirectory() as home:
            self.assertEqual(self.of({"PATH": os.environ["PATH"], "HOME": home}), home)


if __name__ == "__main__":
    unittest.main()
