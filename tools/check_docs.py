#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages: every relative link and every picture leads somewhere, every anchor is a heading,
every page of docs/ can be reached from README.md, and every C++ block is one that
tools/doc_blocks.py can run. (That they run is a test: docs.every_block_runs.)
"""

import re
import sys

import doc_blocks

ROOT = doc_blocks.ROOT
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "models/README.md",
          "tests/oracle/README.md")
PAGES = [*doc_blocks.PAGES, *(ROOT / page for page in OTHERS)]

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ANY_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def shown(path):
    return path.relative_to(ROOT)


def without_blocks(path):
    """Blocks are emptied, not removed, so that the lines keep their numbers."""
    text = path.read_text(encoding="utf-8")
    return ANY_BLOCK.sub(lambda m: "\n" * m[0].count("\n"), text)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    plain = (re.sub(r"[^\w\- ]", "", h.lower()).strip() for h in HEADING.findall(without_blocks(path)))
    return {h.replace(" ", "-") for h in plain}


def links(path):
    """Each relative link with its line, file and anchor."""
    text = without_blocks(path)
    for match in LINK.finditer(text):
        if re.match(r"[a-z]+:", match[1]):
            continue
        target, _, anchor = match[1].partition("#")
        file = (path.parent / target).resolve() if target else path
        yield match[1], text.count("\n", 0, match.start()) + 1, file, anchor


def broken_links():
    for path in PAGES:
        for link, line, file, anchor in links(path):
            if not file.exists():
                yield f"{shown(path)}:{line}: {link} does not exist"
            elif anchor and anchor not in anchors(file):
                yield f"{shown(path)}:{line}: {link}: there is no such heading"


def unreachable_pages():
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page not in reached:
            reached.add(page)
            todo += [file for _, _, file, _ in links(page) if file.suffix == ".md" and file.exists()]
    yield from (f"{shown(p)}: no link leads here from README.md" for p in PAGES if p not in reached)


def unrunnable_blocks():
    for block in doc_blocks.blocks():
        if block.is_compiled and "#include" in block.code and not (
                doc_blocks.MAIN.search(block.code) or block.mark == "call"):
            yield f"{block.name}: has neither a main() nor a <!-- call: ... --> that would run it"


def main():
    wrong = [*broken_links(), *unreachable_pages(), *unrunnable_blocks()]
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
