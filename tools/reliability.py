#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tools/soak.sh and writes what it said, and what the last `make check` in this tree said, with the
machine and the dates, into docs/reliability.md, between the marks there. Without a `make check` before, it
runs one. Figures are what was run."""

import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reliability.md"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->"
LINE = re.compile(r"^(?:soak|check): (\S+) \| (.*) \| (\d+) s \| (.+)$")
CHECKED = [ROOT / f"build/figures/{part}.txt" for part in ("lint", "clang", "asan", "tsan", "models", "mutants")]
TABLE = "| Part | Figure | Time | Result |\n|---|---|---|---|\n"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def row_of(line):
    """The row of the table for a line that tells of a part; nothing for any other."""
    if not (found := LINE.match(line)):
        return ""
    part, figure, seconds, result = found.groups()
    return f"| {part} | {figure.replace('|', '/')} | {seconds} s | {result} |\n"


def check_table():
    if not all(file.is_file() for file in CHECKED) and subprocess.run(["make", "check"], cwd=ROOT).returncode != 0:
        sys.exit("reliability: make check failed; the page is as it was")
    day = datetime.date.fromtimestamp(max(file.stat().st_mtime for file in CHECKED))
    lines = [line for file in CHECKED for line in file.read_text(encoding="utf-8").splitlines()]
    return f"`make check`, {day}:\n\n" + TABLE + "".join(map(row_of, lines))


def soak_table(arguments):
    rows = []
    soak = subprocess.Popen([ROOT / "tools/soak.sh", *arguments], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "CADRE_WRITE_MUTANTS": "1"})  # the other table of the page
    for line in soak.stdout:
        print(line, end="", flush=True)
        rows.append(row_of(line))
    if soak.wait() != 0:
        sys.exit("reliability: a part failed; the page is as it was")
    return f"`make soak MINUTES={arguments[0]}`, {datetime.date.today()}:\n\n" + TABLE + "".join(rows)


def main():
    tables = check_table() + "\n" + soak_table(sys.argv[1:] or ["10"])
    head = (f"{processor()}, {os.cpu_count()} processors, Linux {platform.release().split('-')[0]}, "
            f"load {os.getloadavg()[0]:.1f} at the end; `make reliability`.\n\n")
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + BEGIN + head + tables + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
