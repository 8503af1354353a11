#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the tests: plants the bugs of tests/trust/mutants.toml, one at a time, and expects the checks that
are named there to fail. A check that hangs counts as failed; a bug that survives is a failure of ours.

All bugs are compiled into one copy of the sources, under build/mutants, each behind a switch that the
environment sets: one build serves all of them, and the tree itself is never touched. Without any bug the
checks must pass first, or a kill would prove nothing.

    tools/mutants.py                 all of them
    tools/mutants.py SH-02 WK-05     these
    tools/mutants.py --sample        the quick and certain few of `make check`
    tools/mutants.py --write         all, and the table goes into docs/reliability.md
    tools/mutants.py --show SH-02    the bug as a patch
    tools/mutants.py --patch FILE    a bug of your own, as a patch, against all tests
"""

import argparse
import concurrent.futures
import datetime
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reliability.md"
BEGIN, END = "<!-- mutants: begin -->\n", "<!-- mutants: end -->"
SCRATCH = ROOT / "build/mutants"
TREE, BUILD = SCRATCH / "tree", SCRATCH / "build"
PERTURB = (BUILD / "tests/perturb.so").relative_to(SCRATCH)  # where checks run: a list of libraries ends at a space
SWITCH = """\
#pragma once
#include <cstdlib>
namespace cadre_mutants {
inline bool is(int number) {
    static const int planted = std::getenv("CADRE_MUTANT") ? std::atoi(std::getenv("CADRE_MUTANT")) : 0;
    return planted == number;
}
}  // namespace cadre_mutants
"""
PROGRAMS = {  # of tests/trust: what is run, and what is built for it
    "ledger_stress": (["ledger_stress", "--seconds", "10"], ["ledger_stress"]),
    "ledger_stress_perturbed": (["ledger_stress", "--seconds", "10"], ["ledger_stress", "perturb"]),
    "race_rounds_perturbed": (["race_rounds", "--rounds", "20000", "--seconds", "300"], ["race_rounds", "perturb"]),
    "fault_sweep": (["fault_sweep"], ["fault_sweep"]),
    "schedules": (["schedules", "--seeds", "300"], ["schedules"]),
}
LEAST_LIMIT = 75  # seconds; the guard of a test is 30


class Mutant:
    def __init__(self, number, table):
        self.number = number
        self.id, self.bug, self.file = table["id"], table["bug"], table["file"]
        self.old, self.new = table["old"].strip("\n"), table["new"].strip("\n")
        self.after, self.checks = table.get("after", ""), table["checks"]
        self.sample, self.known = table.get("sample", False), table.get("known", "")

    def place(self, text):
        """Where the old text begins."""
        start = text.find(self.after)
        found = text.find(self.old, start)
        if start < 0 or found < 0:
            sys.exit(f"mutants: {self.id}: {self.file} does not have: {self.old}")
        if not self.after and text.count(self.old) != 1:
            sys.exit(f"mutants: {self.id}: {self.file} has more than once: {self.old}")
        return found

    def switched(self):
        """The old text and the new, by the switch."""
        test = f"cadre_mutants::is({self.number})"
        if self.old.rstrip()[-1] in ";}":
            return f"if ({test}) {{ {self.new} }} else {{ {self.old} }}"
        return f"({test} ? ({self.new}) : ({self.old}))"

    def patch(self):
        before = (ROOT / self.file).read_text(encoding="utf-8")
        at = self.place(before)
        after = before[:at] + self.new + before[at + len(self.old):]
        return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True),
                                            "a/" + self.file, "b/" + self.file))


def read_mutants():
    tables = tomllib.loads((ROOT / "tests/trust/mutants.toml").read_text(encoding="utf-8"))["mutant"]
    mutants = [Mutant(i + 1, table) for i, table in enumerate(tables)]
    if len({m.id for m in mutants}) != len(mutants):
        sys.exit("mutants: an ID is there twice")
    return mutants


# ---- the copy and its build

def planted(name, text, mutants):
    """The text of a file with all of its mutants in it."""
    places = sorted(((m.place(text), m) for m in mutants if m.file == name), key=lambda p: p[0], reverse=True)
    if not places:
        return text
    limit = len(text)
    for at, mutant in places:
        if at + len(mutant.old) > limit:
            sys.exit(f"mutants: {mutant.id} lies across another one in {name}")
        text = text[:at] + mutant.switched() + text[at + len(mutant.old):]
        limit = at
    include = f'#include "{SCRATCH}/switch.hpp"\n'
    if "#pragma once\n" in text:
        return text.replace("#pragma once\n", "#pragma once\n" + include, 1)
    return include + text


def write_if_new(path, data):
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def copy_tree(mutants):
    """Only what has changed is written, so that only that is built again."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True).stdout.splitlines()
    parts = ("CMakeLists.txt", "LICENSE", "cmake/", "include/", "src/", "tests/", "web/")
    wanted = {name for name in listed if name.startswith(parts) and (ROOT / name).is_file()}
    write_if_new(SCRATCH / "switch.hpp", SWITCH.encode())
    for name in wanted:
        data = (ROOT / name).read_bytes()
        if any(m.file == name for m in mutants):
            data = planted(name, data.decode("utf-8"), mutants).encode("utf-8")
        write_if_new(TREE / name, data)
        shutil.copymode(ROOT / name, TREE / name)
    for path in TREE.rglob("*"):
        if path.is_file() and str(path.relative_to(TREE)) not in wanted:
            path.unlink()


def executable_of(check):
    return {"stress": "stress_tests", "manage": "manage_tests"}.get(check.split("/")[0], "unit_tests")


def run_or_exit(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(done.stdout + f"\nmutants: failed: {' '.join(map(str, command))}")


def build(checks):
    sources = sorted(c for c in checks if c not in PROGRAMS)
    targets = {executable_of(c) for c in sources}
    for check in checks:
        targets.update(PROGRAMS.get(check, ((), ()))[1])
    only = "tests/(" + "|".join(sources) + r")\.cpp$" if sources else "none"
    manages = "manage_tests" in targets
    run_or_exit(["cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_CXX_COMPILER=g++",
                 "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DCADRE_DEVELOPER=OFF",
                 "-DCADRE_IN_BATCHES=ON", "-DCADRE_BUILD_EXAMPLES=OFF", "-DCADRE_BUILD_BENCH=OFF",
                 "-DCADRE_INSTALL=OFF", f"-DCADRE_BUILD_MANAGE={'ON' if manages else 'OFF'}",
                 "-DCADRE_TEST_STRESS=ON", f"-DCADRE_ONLY_TESTS={only}"])
    run_or_exit(["cmake", "--build", BUILD, "--target", *sorted(targets)])


# ---- running checks

def command_of(check):
    """The command of a check, and what its environment needs."""
    if check in PROGRAMS:
        name, *arguments = PROGRAMS[check][0]
        more = {"LD_PRELOAD": str(PERTURB)} if check.endswith("perturbed") else {}
        return [BUILD / "tests" / name, *arguments], more
    text = (TREE / "tests" / (check + ".cpp")).read_text(encoding="utf-8")
    suites = sorted(set(re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+)", text, re.MULTILINE)))
    patterns = [p for s in suites for p in (f"{s}.*", f"{s}/*", f"*/{s}.*", f"*/{s}/*")]
    return [BUILD / "tests" / executable_of(check), "--gtest_fail_fast", "--gtest_filter=" + ":".join(patterns)], {}


def run_check(check, number, limit):
    """How a check ended: nothing if it passed, else the test that failed and how; and its output."""
    command, more = command_of(check)
    command = ["setpriv", "--pdeathsig", "KILL", "--", *command]  # a mutant that spins dies with this program
    environment = {**os.environ, **more, "CADRE_MUTANT": str(number)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True, cwd=SCRATCH) as process:
        try:
            output, _ = process.communicate(timeout=limit)
            how = "" if process.returncode == 0 else "failed" if process.returncode > 0 else \
                signal.Signals(-process.returncode).name
        except subprocess.TimeoutExpired:
            how = "hung"
        finally:  # what a test has forked goes with it
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if how == "hung":
            output, _ = process.communicate()
    if not how:
        return None, output
    failed = re.findall(r"^\[  FAILED  \] (\S+?),? ", output, re.MULTILINE)
    begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    named = (failed[:1] or begun[-1:] or [check])[0]
    return f"`{re.sub('[^ -~]', '', named)}` {how}", output


class Times:
    """How long the checks take without any bug."""

    def __init__(self):
        self.of = {}

    def measure(self, check):
        began = time.monotonic()
        ended, output = run_check(check, 0, 900)
        if ended:
            sys.stdout.write(output[-8000:])
            return f"{check}: {ended} without any mutant"
        self.of[check] = time.monotonic() - began
        return None

    def limit(self, check):
        return max(LEAST_LIMIT, 5 * self.of[check])


def hunt(mutant, times):
    """Who killed the mutant (nobody: None) and after how many seconds."""
    began = time.monotonic()
    for check in mutant.checks:
        killer, _ = run_check(check, mutant.number, times.limit(check))
        if killer:
            return killer, time.monotonic() - began
    return None, time.monotonic() - began


def at_once(jobs, work, items):
    """The results, each as soon as it and those before it are there."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(work, items)


def write_table(rows, killed, seconds):
    text = PAGE.read_text(encoding="utf-8")
    before, mark, rest = text.partition(BEGIN)
    if not mark:
        sys.exit(f"mutants: {PAGE} has no line {BEGIN.strip()}")
    head = (f"{datetime.date.today()}, {os.cpu_count()} processors: {killed} of {len(rows)} killed, in {seconds:.0f} s "
            "with the build; `make mutants`. The time is from the start of the first check to the failure.\n\n"
            "| Mutant | The bug | Killed by | After |\n|---|---|---|---|\n")
    PAGE.write_text(before + BEGIN + head + "".join(rows) + END + rest.partition(END)[2], encoding="utf-8")


def try_patch(file):
    """A bug of somebody else's, against the tests of the library and the management plane, and PROGRAMS."""
    copy_tree([])
    run_or_exit(["patch", "-p1", "--no-backup-if-mismatch", "-i", file.resolve()], cwd=TREE)
    checks = sorted(str(p.relative_to(TREE / "tests"))[:-4] for p in (TREE / "tests").glob("*_test.cpp"))
    checks += sorted(str(p.relative_to(TREE / "tests"))[:-4] for p in (TREE / "tests").glob("[cs]*s/*_test.cpp"))
    checks += sorted(str(p.relative_to(TREE / "tests"))[:-4] for p in (TREE / "tests").glob("manage/*_test.cpp"))
    checks += PROGRAMS
    build(checks)
    for check in checks:
        killer, _ = run_check(check, 0, 300)
        if killer:
            sys.exit(print(f"mutants: {file} | killed: {killer}"))
    sys.exit(f"mutants: {file} | SURVIVED")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--patch", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.patch:
        try_patch(options.patch)
    mutants = read_mutants()
    if unknown := set(options.ids) - {m.id for m in mutants}:
        sys.exit(f"mutants: there is no {', '.join(sorted(unknown))}")
    chosen = [m for m in mutants if (m.id in options.ids or not options.ids) and (m.sample or not options.sample)]
    if options.show:
        sys.exit(print("".join(m.patch() for m in chosen), end=""))

    began = time.monotonic()
    copy_tree(mutants)
    checks = sorted({c for m in chosen for c in m.checks})
    build(checks)
    built = time.monotonic() - began
    print(f"mutants: built in {built:.0f} s", flush=True)
    times = Times()
    if wrong := [w for w in at_once(options.jobs, times.measure, checks) if w]:
        sys.exit("mutants: " + "\nmutants: ".join(wrong))
    rows, survivors = [], []
    for mutant, (killer, after) in zip(chosen, at_once(options.jobs, lambda m: hunt(m, times), chosen)):
        told = killer or ("survived, as known: " + mutant.known if mutant.known else "SURVIVED")
        print(f"mutants: {mutant.id} | {mutant.bug} | {told} | {after:.1f} s", flush=True)
        rows.append(f"| {mutant.id} | {mutant.bug} | {told} | {after:.1f} s |\n")
        if not killer and not mutant.known:
            survivors.append(mutant.id)
    killed = sum("urvived" not in row and "SURVIVED" not in row for row in rows)
    if options.write and not options.ids and not options.sample:
        write_table(rows, killed, time.monotonic() - began)
    print(f"{killed} of {len(chosen)} mutants killed in {time.monotonic() - began:.0f} s, {built:.0f} of them the build")
    if survivors:
        sys.exit(f"mutants: nobody noticed {', '.join(survivors)}")


if __name__ == "__main__":
    main()
