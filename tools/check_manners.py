#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no tracked file should have: words of unfinished work and paths of one machine; that every
C++ file starts with its licence; that nothing in the library waits by what is known to lose wake-ups or to
mislead ThreadSanitizer (PL-01 to PL-03 of docs/hazards.md); and that where a test sleeps a comment tells why, in
that line or the one above."""

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

# What sanitizers cannot follow; and, in the core, what glibc before 2.41 or libstdc++ 12 may leave asleep.
NOWHERE = re.compile(r"\b(atomic_(thread|signal)_fence|(shared_)?timed_mutex)\b")
NOT_IN_THE_CORE = re.compile(
    r"\bstd::(condition_variable\w*|counting_semaphore|binary_semaphore|latch|barrier)\b|\bnotify_(one|all)\(\)")
LIBRARY = ("include/", "src/")
# Not the core: the management plane; what waits for foreign code alone; what only tests use.
BESIDE_THE_CORE = ("include/cadre/manage/", "src/manage/", "src/cadrectl/", "include/cadre/asio.hpp",
                   "include/cadre/testing.hpp", "src/testing.cpp")


def waits_wrongly(name, line):
    """What a line of C++ waits by that it should not; nothing for most."""
    if not name.startswith(LIBRARY):
        return None
    code = line.partition("//")[0]
    return NOWHERE.search(code) or (not name.startswith(BESIDE_THE_CORE) and NOT_IN_THE_CORE.search(code))


SLEEP = re.compile(r"(?<!\w)(sleep_for|sleep_until|usleep|nanosleep)\(")
# What tests may sleep by, each with its reason; where scenarios say that something sleeps; and what tests sleeping.
OF_SLEEPS = ("tests/support/", "tests/oracle/", "tests/thread_test.cpp")


def sleeps_without_reason(name, line, line_before):
    """Whether a line of a test sleeps, and nothing tells why."""
    if not name.startswith("tests/") or name.startswith(OF_SLEEPS) or not SLEEP.search(line.partition("//")[0]):
        return False
    return "//" not in line and not line_before.lstrip().startswith("//")


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
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            for rule, what in RULES:
                if rule.search(line):
                    yield f"{name}:{number}: {what}: {line.strip()}"
            if path.suffix in (".cpp", ".hpp") and waits_wrongly(name, line):
                yield f"{name}:{number}: no way to wait, see PL-01 of docs/hazards.md: {line.strip()}"
            if path.suffix in (".cpp", ".hpp") and sleeps_without_reason(name, line, lines[number - 2]):
                yield f"{name}:{number}: a sleep without a reason, see tests/support/sleeps.hpp: {line.strip()}"


def main():
    found = list(complaints())
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
