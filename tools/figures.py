#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One line a part of `make check`: what, how much, how long, the result. The lines also go into
build/figures, where `make check` and tools/reliability.py find them.

    tools/figures.py part NAME COMMAND...    runs the command; its last line is the figure
    tools/figures.py tests PRESET            the parts of the last run of ctest: a program that tests/trust has
                                             is a part, with its last line; gtest programs, fuzz targets,
                                             examples and the like are a part together. Fails if the fuzz
                                             targets were given fewer inputs than are promised
    tools/figures.py show NAME...            the lines of those parts or presets once more
"""

import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "build/figures"
TEST = re.compile(
    r'^\d+/\d+ Test: (?P<name>.*)\nCommand: "(?P<program>[^"]*)".*\n(?:.*\n)*?Output:\n-+\n'
    r"(?P<output>(?:.*\n)*?)<end of output>\nTest time = +(?P<seconds>[\d.]+) sec\n-+\nTest (?P<result>\w+)",
    re.MULTILINE)
RAN = re.compile(r"^\[=+\] (\d+) tests? from .* ran\.", re.MULTILINE)  # of gtest: one test, or a share of them
SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below", re.MULTILINE)
INPUTS = re.compile(r"number_of_executed_units: *(\d+)")  # of libFuzzer
PROMISED_INPUTS = {"asan": 1_000_000}  # by preset, for all targets together: fewer is a failure
FAILED = re.compile(r"^\[  FAILED  \] (\S+?),? .*\(\d+ ms\)$", re.MULTILINE)


class Part:
    """Some tests that are told together, or one that has a figure of its own."""

    def __init__(self):
        self.outputs, self.seconds, self.failed, self.promised_inputs = [], 0.0, [], 0

    def inputs(self):
        return sum(int(n) for o in self.outputs for n in INPUTS.findall(o))

    def is_short(self):
        return self.inputs() < self.promised_inputs

    def add(self, test):
        self.outputs.append(test["output"])
        self.seconds += float(test["seconds"])
        if test["result"].startswith("Fail"):
            self.failed += FAILED.findall(test["output"]) or [test["name"]]

    def figure(self, name):
        told = f"{sum(count(RAN, o, 1) for o in self.outputs)} tests"
        skipped = sum(count(SKIPPED, o, 0) for o in self.outputs)
        if name == "fuzz":
            told = f"{len(self.outputs)} targets, {self.inputs()} inputs, {len(self.failed)} findings"
        elif not is_group(name):
            told = last_line(self.outputs[0]) or "no output"
        if self.is_short():
            told += f", SHORT of the {self.promised_inputs} promised"
        if skipped:
            told += f", {skipped} of them skipped"
        return told + (f"; failed: {', '.join(self.failed)}" if self.failed else "")


def count(pattern, output, otherwise):
    found = pattern.search(output)
    return int(found[1]) if found else otherwise


def is_group(name):
    return name.endswith("_tests") or name in ("fuzz", "example", "npm", "consume", "web", "cadrectl")


def part_of(test):
    """The part a test belongs to: its program, for a single test of gtest's, or what its name begins with."""
    program = pathlib.Path(test["program"]).name
    if program == "fuzz" or (program.endswith("_tests") and "." in test["name"]):
        return program
    family = test["name"].partition(".")[0]
    return family if is_group(family) else test["name"]


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].replace("|", "/") if lines else ""


def line_of(part, figure, seconds, passed):
    return f"check: {part} | {figure} | {seconds:.0f} s | {'passed' if passed else 'FAILED'}\n"


def tell(name, lines):
    FIGURES.mkdir(parents=True, exist_ok=True)
    (FIGURES / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    print("".join(lines), end="", flush=True)


def run_part(name, command):
    began, last = time.monotonic(), ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            last = last_line(line) or last
    tell(name, [line_of(name, last or "no output", time.monotonic() - began, process.returncode == 0)])
    sys.exit(process.returncode)


def tell_tests(preset):
    log = ROOT / "build" / preset / "Testing/Temporary/LastTest.log"
    parts = {}
    for test in TEST.finditer(log.read_text(encoding="utf-8", errors="replace")):
        parts.setdefault(part_of(test), Part()).add(test)
    if preset in PROMISED_INPUTS:
        parts.setdefault("fuzz", Part()).promised_inputs = PROMISED_INPUTS[preset]
    passed = {name: not part.failed and not part.is_short() for name, part in parts.items()}
    tell(preset, [line_of(f"{preset}/{name}", part.figure(name), part.seconds, passed[name])
                  for name, part in sorted(parts.items())])
    sys.exit(not all(passed.values()))


def main():
    match sys.argv[1:]:
        case ["part", name, *command] if command:
            run_part(name, command)
        case ["tests", preset]:
            tell_tests(preset)
        case ["show", *names] if names:
            for name in names:
                print((FIGURES / f"{name}.txt").read_text(encoding="utf-8"), end="")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
