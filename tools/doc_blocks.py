#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the C++ blocks of README.md and docs/**/*.md.

    doc_blocks.py generate FILE KIND...  writes the blocks of these KINDS into one C++ file
    doc_blocks.py run PROGRAM [NAME...]  runs each block that PROGRAM has, or those named
    doc_blocks.py alone KINDS COMPILER FLAG...   compiles each program of these KINDS (a,b) by itself
    doc_blocks.py java                   compiles and runs the blocks of Java

A ```cpp block is either a program, if it has a main(), or a fragment, which is put into a function in
which `pool` is a thread pool and `timers` a scheduler, with the headers of the frame that
docs/guide/README.md shows. Each runs in a process and an empty directory of its own, must end with 0,
and within TIMEOUT. If a ```text block follows it at once, that is what it prints; `...` in it stands
for anything, as far as the end of the line or several lines if alone.

Comments in the line before a block change that:
<!-- frame: ... -->          the frame itself
<!-- call: f(pool); -->      the block is functions or types, and this is run after it
<!-- file: pools.yaml -->    the block, of whatever language, is a file in the directory of the blocks
                             of its page
<!-- needs: asio.hpp -->     another library's code: compiled and run if these headers are there
<!-- not compiled: why -->   code that cannot be tried here
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TIMEOUT = 100

# By the headers that a block includes or needs.
KINDS = {"manage": "cadre/manage/", "asio": "asio", "tbb": "tbb/", "core": ""}

JAVA = """\
import java.util.*;
import java.util.concurrent.*;
import static java.util.concurrent.TimeUnit.*;
class Block { public static void main(String[] arguments) throws Exception {
"""

BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[a-z ]+): (?P<said>.*?) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)^```\n"
    r"(?:\n?```text\n(?P<prints>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
INCLUDE = re.compile(r"^#include [<\"](.*)[>\"].*\n", re.MULTILINE)
MAIN = re.compile(r"^int main\((.*)\) \{", re.MULTILINE)
MARKS = {"call", "file", "frame", "needs", "not compiled"}

@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    code: str
    language: str
    mark: str
    said: str
    prints: str

    @property
    def name(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_compiled(self):
        return self.language == "cpp" and self.mark != "not compiled"

    @property
    def is_program(self):
        return bool(MAIN.search(self.code))

    @property
    def headers(self):
        return INCLUDE.findall(self.code) + (self.said.split() if self.mark == "needs" else [])

    @property
    def kind(self):
        return next(k for k, at in KINDS.items() if any(at in h for h in [*self.headers, ""]))


def blocks():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start("code")) + 1
            fields = {k: found[k] or "" for k in ("code", "language", "mark", "said", "prints")}
            block = Block(page, line, **fields)
            if block.mark and block.mark not in MARKS:
                raise SystemExit(f"{block.name}: '{block.mark}' is no mark of tools/doc_blocks.py")
            yield block


def in_cpp(number, block):
    """The block as a function run_<number>."""
    code = INCLUDE.sub("\n", block.code)
    here = f'#line {block.line} "{block.page.relative_to(ROOT)}"\n'
    head = f"void run_{number}([[maybe_unused]] cadre::thread_pool_executor& pool,\n"
    head += "    [[maybe_unused]] cadre::scheduled_thread_pool_executor& timers)"
    if block.is_program:
        # The last line that starts with a brace is the end of main; 0 is what it returns there.
        code = re.sub(r"^\}(?!.*^\})", "return 0; }", MAIN.sub(r"int doc_main(\1) {", code),
                      flags=re.MULTILINE | re.DOTALL)
        body = "expect_success(doc_main());"
    elif block.mark == "call":
        body = block.said
    else:
        # The inner braces: a block may have a pool of its own.
        return f"{head} {{\nusing namespace std::chrono_literals; {{\n{here}{code}}} }}\n"
    return f"namespace block_{number} {{\n{here}{code}\n{head} {{ {body} }}\n}}\n"


def generate(path, kinds):
    found = [b for b in blocks() if b.is_compiled and b.kind in kinds]
    frame = next(b for b in found if b.mark == "frame")
    text = "// Made by tools/doc_blocks.py.\n"
    registered = ""
    # Fragments first: what a program includes is not for them.
    for part in (False, True):
        own = [(n, b) for n, b in enumerate(found) if b.is_program == part]
        includes = [h for _, b in own for h in b.headers]
        first = [] if part else [*frame.headers, *includes]
        text += "".join(f"#include <{h}>\n" for h in dict.fromkeys(first or sorted(includes)))
        text += "" if part else '#include "run_blocks.hpp"\n'
        text += "namespace {\n"
        for number, b in own:
            code = in_cpp(number, b)
            text += code
            at = f"block_{number}::" if code.startswith("namespace") else ""
            registered += f'    {{"{b.name}", &{at}run_{number}}},\n'
        text += "}\n"
    text += f"int main(int argc, char** argv) {{\n  return run_blocks({{\n{registered}}}, argc, argv);\n}}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def all_well(what, wrong, count):
    print("\n".join(wrong) if wrong else f"{count} {what}")
    return 1 if wrong else 0


def alone(kinds, compiler):
    """Compiles each program with no header but its own."""
    programs = [b for b in blocks() if b.is_compiled and b.is_program and b.kind in kinds]

    def one(block):
        here = f'#line {block.line} "{block.name}"\n'
        ran = subprocess.run([*compiler, "-fsyntax-only", "-x", "c++", "-"], input=here + block.code,
                             capture_output=True, text=True, check=False)
        return "" if ran.returncode == 0 else f"{block.name}: does not compile alone\n{ran.stderr}"

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        wrong = [w for w in threads.map(one, programs) if w]
    return all_well("programs compile alone", wrong, len(programs))


def java():
    found = [b for b in blocks() if b.language == "java"]
    wrong = []
    for block in found:
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "Block.java"
            file.write_text(JAVA + block.code + "}}\n", encoding="utf-8")
            ran = subprocess.run(["java", file], capture_output=True, text=True, timeout=TIMEOUT, check=False)
        if problem := judged(block, ran):
            wrong.append(problem)
    return all_well("blocks of Java ran", wrong, len(found))


def as_pattern(prints):
    lines = [".*" if line == "..." else re.escape(line).replace(r"\.\.\.", "[^\n]*")
             for line in prints.splitlines()]
    return re.compile("\n".join(lines) + "\n?", re.DOTALL)


def trimmed(text):
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def judged(block, ran):
    """What is wrong with how it ran; nothing if all is well."""
    if ran.returncode != 0:
        return f"{block.name}: ended with {ran.returncode}\n{ran.stdout}{ran.stderr}"
    if block.prints and not as_pattern(block.prints).fullmatch(trimmed(ran.stdout)):
        return f"{block.name}: prints\n{ran.stdout}and the page says\n{block.prints}"
    return ""


def try_block(program, block, files):
    """What is wrong with it; nothing if all is well."""
    with tempfile.TemporaryDirectory() as directory:
        for file in files:
            (pathlib.Path(directory) / file.said).write_text(file.code, encoding="utf-8")
        try:
            ran = subprocess.run([program, block.name], cwd=directory, capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return f"{block.name}: has not ended after {TIMEOUT} s"
    return judged(block, ran)


def run(program, names):
    program = os.path.abspath(program)
    every = list(blocks())
    listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    known = {b.name: b for b in every}
    if unknown := [n for n in [*listed, *names] if n not in known]:
        raise SystemExit(f"no such blocks, is the program older than the pages? {' '.join(unknown)}")

    def one(name):
        files = [b for b in every if b.mark == "file" and b.page == known[name].page]
        return try_block(program, known[name], files)

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        wrong = [w for w in threads.map(one, names or listed) if w]
    return all_well("blocks ran as their pages say", wrong, len(names or listed))


def main():
    match sys.argv[1:]:
        case ["generate", file, *kinds] if set(kinds) <= KINDS.keys():
            generate(pathlib.Path(file), kinds)
            return 0
        case ["run", program, *names]:
            return run(program, names)
        case ["alone", kinds, *compiler] if compiler:
            return alone(kinds.split(","), compiler)
        case ["java"]:
            return java()
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
