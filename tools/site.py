#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the site, build/site/index.html: the pages of the repository and the reference of the headers.

    site.py [DIRECTORY]     into another directory
    site.py --header FILE   a header as Doxygen is to read it

Doxygen does the work. Before it, the pages are made ready: headings get the anchors that GitHub gives
them, links between pages become references, the examples become a page; and what a header says of itself is
marked as such, or Doxygen takes it for a description of the namespace that follows. After it, the
warnings are looked through: it fails for any, save members without a comment, whose names say it all. It
also fails for a page that tells where on this machine it was made.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import check_docs

ROOT = check_docs.ROOT
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^()\s]+)\)")
LINK = re.compile(r"\[([^\]]*)\]\(([^()\s]+)\)")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
OF_HEADER = re.compile(r"^((?:///.*\n)+)\n", re.MULTILINE)  # a comment on nothing that follows
# Members whose names say it all, and what Doxygen cannot place: a specialisation for std.
UNIMPORTANT = re.compile(r"warning: (Member .* is not documented|.* std::coroutine_traits<)")


def page_id(path):
    return re.sub(r"[^\w-]", "_", str(path.relative_to(ROOT).with_suffix("")))


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def example_id(path):
    return f"example_{path.stem}"


def link_target(page, target):
    """What a link of a page becomes."""
    if re.match(r"[a-z]+:", target):
        return target
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if anchor and file == ROOT / "README.md":
        return f"index.html#{anchor}"
    if file.suffix == ".md":
        return f"@ref {page_id(file)}{'-' + anchor if anchor else ''}"
    if file.parent == ROOT / "examples" and file.suffix == ".cpp":
        return f"@ref {example_id(file)}"
    if file == ROOT / "examples":
        return "@ref examples"
    if file.suffix == ".hpp":
        return f"@ref {file.relative_to(ROOT / 'include')}"
    if file == ROOT / "include" / "cadre":
        return "files.html"
    return f"files/{file.relative_to(ROOT)}"  # copied beside the pages


def prose(page, text, files):
    """A stretch of a page outside of code blocks."""
    def heading(match):
        if len(match[1]) == 1:
            return f"# {match[2]} {{#{page_id(page)}}}"
        if page == ROOT / "README.md":  # not in the menu, which starts with the guides
            return f'<h2><a id="{slug(match[2])}"></a>{match[2]}</h2>'
        return f"{match[1]} {match[2]} {{#{page_id(page)}-{slug(match[2])}}}"

    def picture(match):
        return f'<img src="images/{pathlib.Path(match[2]).name}" alt="{match[1]}"/>'

    def link(match):
        target = link_target(page, match[2])
        if target.startswith("files/"):
            files.add(target.removeprefix("files/"))
        if target.startswith("@ref"):
            return f"[{match[1]}]({target})"
        return f'<a href="{target}">{match[1]}</a>'

    text = COMMENT.sub("", text)
    return LINK.sub(link, PICTURE.sub(picture, HEADING.sub(heading, text)))


def ready(page, files):
    parts = FENCED.split(page.read_text(encoding="utf-8"))
    return "".join(p if p.startswith("```") else prose(page, p, files) for p in parts)


def header(path):
    """A line for a line, for the reference points into the header."""
    return OF_HEADER.sub(r"/// @file\n\1", pathlib.Path(path).read_text(encoding="utf-8"))


def examples():
    text = "# Examples {#examples}\n\nEach shows one idea in under 60 lines, and is run by the tests.\n"
    for path in sorted((ROOT / "examples").glob("*.cpp")):
        _, *lines = path.read_text(encoding="utf-8").splitlines()  # without the licence
        text += f"\n## {path.stem} {{#{example_id(path)}}}\n\n```cpp\n" + "\n".join(lines) + "\n```\n"
    return text


def doxygen(pages, site):
    configuration = (ROOT / "docs/site/Doxyfile").read_text(encoding="utf-8")
    configuration += f"""
INPUT = include/cadre docs/site/namespaces.dox {pages}
STRIP_FROM_PATH = include . {pages.parent}
FILTER_PATTERNS = *.hpp="{sys.executable} {__file__} --header"
USE_MDFILE_AS_MAINPAGE = {pages}/README.md
OUTPUT_DIRECTORY = {site.parent}
HTML_OUTPUT = {site.name}
"""
    done = subprocess.run(["doxygen", "-"], cwd=ROOT, input=configuration, text=True,
                          stderr=subprocess.PIPE, check=False)
    warnings = done.stderr.splitlines()
    matter = [w for w in warnings if not UNIMPORTANT.search(w)]
    print("\n".join(matter), file=sys.stderr, end="\n" if matter else "")
    return done.returncode == 0 and not matter


def names_this_machine(site):
    found = [page.name for page in sorted(site.glob("*.html"))
             if re.search(f"{ROOT}|{site.parent}", page.read_text(encoding="utf-8"))]
    print("".join(f"{page} names a directory of this machine\n" for page in found), file=sys.stderr, end="")
    return bool(found)


def main():
    if sys.argv[1:2] == ["--header"]:
        print(header(sys.argv[2]), end="")
        return 0
    site = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/site").resolve()
    pages = site.parent / f"{site.name}_pages"
    for directory in (site, pages):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
    files = set()
    for page in check_docs.PAGES:
        (pages / f"{page_id(page)}.md").write_text(ready(page, files), encoding="utf-8")
    (pages / "examples.md").write_text(examples(), encoding="utf-8")
    if not doxygen(pages, site) or names_this_machine(site):
        return 1
    shutil.copytree(ROOT / "docs/images", site / "images")
    for name in files:
        if (ROOT / name).is_file():
            (site / "files" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, site / "files" / name)
    shutil.rmtree(pages)
    print(f"open {os.path.relpath(site / 'index.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
