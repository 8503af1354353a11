#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/figures.py: what it makes of a log of ctest, and when it fails."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

FIGURES = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/figures.py"


def logged(number, name, program, output, result="Passed"):
    """What ctest writes of a test into LastTest.log."""
    return (f"{number}/9 Testing: {name}\n{number}/9 Test: {name}\nCommand: \"{program}\" \"x\"\n"
            f"Directory: /tmp\n\"{name}\" start time: now\nOutput:\n{'-' * 58}\n{output}<end of output>\n"
            f"Test time =   1.50 sec\n{'-' * 58}\nTest {result}.\n\n")


def fuzzed(number, target, inputs, result="Passed"):
    return logged(number, f"fuzz_{target}", "/build/fuzz", f"stat::number_of_executed_units: {inputs}\n", result)


class Figures(unittest.TestCase):
    def told(self, preset, *log):
        """The exit code of `figures.py tests`, and its lines."""
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            place = root / "build" / preset / "Testing/Temporary"
            place.mkdir(parents=True)
            (root / "tools").mkdir()
            shutil.copy(FIGURES, root / "tools")
            (place / "LastTest.log").write_text("".join(log), encoding="utf-8")
            done = subprocess.run([root / "tools/figures.py", "tests", preset], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((root / f"build/figures/{preset}.txt").read_text(encoding="utf-8"), done.stdout)
            return done.returncode, done.stdout.splitlines()

    def test_a_program_is_told_by_its_last_line(self):
        code, lines = self.told("clang", logged(1, "churn", "/build/upkeep", "begins\nchurn: 3 | 4 pools\n"))
        self.assertEqual((code, lines), (0, ["check: clang/churn | churn: 3 / 4 pools | 2 s | passed"]))

    def test_fuzz_targets_are_told_together(self):
        code, lines = self.told("asan", fuzzed(1, "yaml", 400_000), fuzzed(2, "json", 600_000))
        self.assertEqual((code, lines),
                         (0, ["check: asan/fuzz | 2 targets, 1000000 inputs, 0 findings | 3 s | passed"]))

    def test_fewer_inputs_than_promised_are_a_failure(self):
        code, lines = self.told("asan", fuzzed(1, "yaml", 400_000), fuzzed(2, "json", 599_999))
        self.assertEqual(code, 1)
        self.assertIn("999999 inputs, 0 findings, SHORT of the 1000000 promised | 3 s | FAILED", lines[0])

    def test_no_fuzz_target_at_all_is_a_failure(self):
        code, lines = self.told("asan", logged(1, "churn", "/build/upkeep", "all well\n"))
        self.assertEqual(code, 1)
        self.assertIn("check: asan/fuzz | 0 targets, 0 inputs", lines[1])

    def test_other_builds_promise_no_inputs(self):
        self.assertEqual(self.told("tsan", logged(1, "churn", "/build/upkeep", "all well\n"))[0], 0)

    def test_what_failed_is_named(self):
        code, lines = self.told("asan", fuzzed(1, "yaml", 1_000_000, "Failed"))
        self.assertEqual(code, 1)
        self.assertIn("1 findings; failed: fuzz_yaml | 2 s | FAILED", lines[0])


if __name__ == "__main__":
    unittest.main()
