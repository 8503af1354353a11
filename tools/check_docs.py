#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks README.md and docs/*.md: every C++ block compiles, every relative link leads somewhere.

A ```cpp block with a main() or an #include is a file of its own. Any other is a fragment: it is put
into a function, after PRELUDE. A comment in the line before a block says otherwise:
<!-- check: fragment --> or <!-- check: skip -->.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE_IN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKS_IN = [*CODE_IN, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

PRELUDE = """\
#include <cadre/cadre.hpp>
#include <iostream>
#include <random>
using namespace std::chrono_literals;
extern cadre::thread_pool_executor pool;
extern cadre::scheduled_thread_pool_executor timers;
"""
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
FLAGS += ["-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-unused-function"]

BLOCK = re.compile(
    r"^(?:<!-- check: (?P<mark>\w+) -->\n)?```cpp\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ANY_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
OWN_FILE = re.compile(r"^\s*#\s*include|\bint main\(", re.MULTILINE)


def shown(path):
    return path.relative_to(ROOT)


def located(path, text, match):
    """The code of a block, with the place that the compiler shall name in its messages."""
    line = text.count("\n", 0, match.start("code")) + 1
    return f'#line {line} "{shown(path)}"\n{match["code"]}'


def sources():
    """The translation units: one for each block that is a file, one for all fragments."""
    fragments = []
    for path in CODE_IN:
        text = path.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            code = located(path, text, match)
            if match["mark"] == "skip":
                continue
            if match["mark"] != "fragment" and OWN_FILE.search(match["code"]):
                yield code
            else:
                fragments.append(f"void fragment_{len(fragments)}() {{\n{code}}}\n")
    if fragments:
        yield PRELUDE + "".join(fragments)


def compiles(source):
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", encoding="utf-8") as file:
        file.write(source)
        file.flush()
        command = [os.environ.get("CXX", "g++"), *FLAGS, f"-I{ROOT / 'include'}", file.name]
        return subprocess.run(command, check=False).returncode == 0


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    text = ANY_BLOCK.sub("", path.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", h.lower()).strip() for h in HEADING.findall(text))
    return {h.replace(" ", "-") for h in plain}


def broken_links():
    for path in LINKS_IN:
        # Blocks are emptied, not removed, so that the lines keep their numbers.
        text = ANY_BLOCK.sub(lambda m: "\n" * m[0].count("\n"), path.read_text(encoding="utf-8"))
        for match in LINK.finditer(text):
            target, _, anchor = match[1].partition("#")
            if re.match(r"[a-z]+:", match[1]):
                continue
            file = path.parent / target if target else path
            line = text.count("\n", 0, match.start()) + 1
            if not file.exists():
                yield f"{shown(path)}:{line}: {match[1]} does not exist"
            elif anchor and anchor not in anchors(file):
                yield f"{shown(path)}:{line}: {match[1]}: there is no such heading"


def main():
    broken = list(broken_links())
    print("\n".join(broken), file=sys.stderr, end="\n" if broken else "")
    all_compile = all([compiles(source) for source in sources()])  # a list: see every error
    return 0 if all_compile and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
