#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the models say of the code, line by line, is so. In a model,

    /* in FILE, f(), g(); FILE, h() */   is above the steps that stand for these functions,
    /* = a statement or a part of one */ at the end of a step: what it stands for there,
    /* - words */                        at the end of a step that stands for no line of ours.

A comment with a line to itself is for the lines below it that are indented as far, up to a blank one or
one with a comment of its own.

What is quoted must stand in one of the functions of each file named, white space and comments aside;
"= a or b" where files differ: one of the two in each, and each somewhere. Every step, but for those of
mutants, must say what it stands for.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
MUTANT = re.compile(r"^  ([A-Z_]{4,})\s", re.MULTILINE)
CONDITION = re.compile(r"#\s*(ifdef|ifndef|if|else|endif)\b\s*(\w*)")
SECTION = re.compile(r"(inline|proctype|active|init)\b[^{]*|#define (?=.*\\$)[^\\]*")
DECLARATION = re.compile(r"\b(byte|bool|registers)\b[^;]*;?")
PLACE = re.compile(r"\bpc ==? \w+")  # where a machine is
STRUCTURE = re.compile(r"\b(if|fi|do|od|else|skip|break|atomic|d_step|goto\s+\w+|\w+:(?!:))(?!\w)|\W")


def folded(code):
    """Without comments, and white space only where two words need it."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL)
    return re.sub(r"\s*(\W)\s*", r"\1", re.sub(r"\s+", " ", code)).strip()


def closing(code, start):
    """Where the bracket at `start` is closed."""
    depth = 0
    for i in range(start, len(code)):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(code[i], 0)
        if depth == 0:
            return i
    return len(code)


def bodies(code, name):
    """The definitions of all functions of that name, in folded code."""
    for head in re.finditer(r"(?<![\w~])" + re.escape(name) + r"(?=\()", code):
        end = closing(code, head.end()) + 1
        if rest := re.compile(r"(const|noexcept|override|final|\s)*(:(?!:)[^;{]*)?(?={)").match(code, end):
            yield code[head.start() : closing(code, rest.end()) + 1]


def stands(quote, code):
    return re.search(r"(?:\b|(?=\W))" + re.escape(folded(quote).rstrip(";")) + r"(?:\b|(?<=\W))", code)


class Model:
    def __init__(self, path):
        self.shown = path.relative_to(ROOT)
        self.text = path.read_text(encoding="utf-8")
        self.mutants = MUTANT.findall(self.text.partition("Mutants")[2].partition("*/")[0])
        # Sections that are put into others: there they are no step.
        self.shared = tuple(re.findall(r"^#define (\w+).*\\$", self.text, re.MULTILINE))
        self.places = []  # of the section: (file, functions, their code)

    def complaints(self):
        """Goes through the lines; comments are blanked out, and met where they begin."""
        comments = {}
        for match in COMMENT.finditer(self.text):
            comments.setdefault(self.text.count("\n", 0, match.start()), []).append(match[1].strip())
        code = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), self.text)
        lines = self.text.split("\n")
        conditions, depth, group, continued = [], 0, None, False
        for number, line in enumerate(code.split("\n")):
            said = [comment for comment in comments.get(number, []) if comment[:2] in ("= ", "- ")]
            for comment in comments.get(number, []):
                if comment.startswith("in "):
                    yield from self.enter(number, comment[3:])
                elif comment.startswith("= "):
                    yield from self.check(number, comment[2:])
            bare = line.strip()
            if not bare.strip("\\ "):
                if said or not lines[number].strip():
                    group = indent(lines[number]) if said else None
                continue
            if condition := CONDITION.match(bare):
                self.conditional(conditions, *condition.groups())
                continue
            begins = depth == 0 and not continued and SECTION.match(bare)
            step = SECTION.sub("", bare, count=1) if begins else bare
            if begins or depth or continued:
                if group is not None and (said or indent(line) < group):
                    group = None
                mutant = any(here for here, _ in conditions)
                if not (said or mutant) and group is None and self.is_step(step):
                    yield f"{self.shown}:{number + 1}: says not what it stands for: {bare}"
            was_inside = depth > 0 or continued
            depth += line.count("{") - line.count("}")
            continued = line.endswith("\\") and (continued or bare.startswith("#define"))
            if depth == 0 and not continued and (was_inside or begins):
                self.places = []

    def is_step(self, code):
        if code.partition("(")[0] in self.shared:
            return False
        return STRUCTURE.sub("", PLACE.sub("", DECLARATION.sub("", code))) != ""

    def conditional(self, conditions, word, name):
        """Keeps, for each #if that is open, whether its lines are a mutant's here and past the #else."""
        if word == "else":
            conditions[-1] = conditions[-1][::-1]
        elif word == "endif":
            conditions.pop()
        else:
            mutant = name in self.mutants
            conditions.append((mutant and word == "ifdef", mutant and word == "ifndef"))

    def enter(self, number, place):
        self.places = []
        for part in place.split(";"):
            file, *functions = [word.strip() for word in part.split(",")]
            if not (ROOT / file).is_file():
                yield f"{self.shown}:{number + 1}: there is no {file}"
                continue
            source = folded((ROOT / file).read_text(encoding="utf-8"))
            found = {f: list(bodies(source, f.removesuffix("()"))) for f in functions}
            yield from (f"{self.shown}:{number + 1}: {file} has no {f}" for f, b in found.items() if not b)
            self.places.append((file, ", ".join(functions), [b for all in found.values() for b in all]))

    def check(self, number, quote):
        quotes = re.split(r"\sor\s", quote)
        if not self.places:
            yield f'{self.shown}:{number + 1}: "{quote}" is quoted from nowhere'
        for file, functions, code in self.places:
            if not any(stands(q, body) for q in quotes for body in code):
                yield f'{self.shown}:{number + 1}: {file}, {functions}, has no "{quote}"'
        for q in quotes if len(quotes) > 1 else []:
            if not any(stands(q, body) for _, _, code in self.places for body in code):
                yield f'{self.shown}:{number + 1}: nowhere is "{q}"'


def indent(line):
    return len(line) - len(line.lstrip())


def main():
    found = [c for path in sorted(ROOT.glob("models/*.pml")) for c in Model(path).complaints()]
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
