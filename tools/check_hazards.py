#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/hazards.md: each test that it names exists, and no number of a section is missing.

In the tables, `suite.test` is a test, a path is a file, and a plain word is a test of ctest, which
some CMakeLists.txt names or a file under tests/. `make soak PARTS=part` is a part of tools/soak.sh.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "hazards.md"

TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)", re.MULTILINE)
ROW = re.compile(r"^\|(.*)\|\s*$")
NUMBER = re.compile(r"([A-Z]{2})-(\d+)")
NAME = re.compile(r"`([^`]+)`")


def known_tests():
    texts = (p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("*.[ch]pp"))
    return {f"{suite}.{name}" for text in texts for suite, name in TEST.findall(text)}


def known_programs():
    lists = (p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("CMakeLists.txt"))
    named = {word for text in lists for word in re.findall(r"_test\((?:NAME )?(\w+)", text)}
    return named | {p.stem for p in (ROOT / "tests").rglob("*") if p.is_file()}


def soak_parts():
    script = (ROOT / "tools" / "soak.sh").read_text(encoding="utf-8")
    return set(re.findall(r"^([\w-]+)\(\)", script, re.MULTILINE))


def is_there(name, tests, programs, parts):
    if part := re.fullmatch(r"make soak PARTS=(\S+)", name):
        return part[1] in parts
    if "/" in name:
        return (ROOT / name).exists()
    if re.fullmatch(r"[a-z_]\w*\.[a-z]\w*", name):
        return name in tests
    if re.fullmatch(r"[a-z_]\w*", name) and not name.endswith(("_policy", "_pool")):
        return name in programs
    return True  # a piece of code


def problems():
    tests, programs, parts = known_tests(), known_programs(), soak_parts()
    numbers = {}
    for line, text in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        row = ROW.match(text)
        cells = [cell.strip() for cell in row[1].split("|")] if row else []
        if len(cells) < 3 or cells[0] in ("ID", "Original") or set(cells[0]) <= set("-: "):
            continue
        number = NUMBER.fullmatch(cells[0])
        if number:
            numbers.setdefault(number[1], []).append(int(number[2]))
        named = cells[2] if number else cells[1]
        if not NAME.search(named) and not named.startswith("Not applicable:"):
            yield f"{line}: {cells[0]} names no test"
        for name in NAME.findall(named):
            if not is_there(name, tests, programs, parts):
                yield f"{line}: there is no {name}"
    for section, found in numbers.items():
        if found != list(range(1, len(found) + 1)):
            yield f"the numbers of {section} have a gap, or are not in order: {found}"


def main():
    found = list(problems())
    for problem in found:
        print(f"docs/hazards.md:{problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
