#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no tracked file should have: words of unfinished work and paths of one machine; and
that every C++ file starts with its licence."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"

# Written so that this file does not find itself.
RULES = [
    (re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"), "unfinished work"),
    (re.compile(r"(?<![\w.])/(work|ro" r"ot|home)/"), "a path of one machine"),
]


def complaints():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # binary, or deleted and not yet committed
        if path.suffix in (".cpp", ".hpp") and not text.startswith(SPDX):
            yield f"{name}:1: the first line is not {SPDX.strip()}"
        for number, line in enumerate(text.splitlines(), 1):
            for rule, what in RULES:
                if rule.search(line):
                    yield f"{name}:{number}: {what}: {line.strip()}"


def main():
    found = list(complaints())
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
