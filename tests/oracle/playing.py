# SPDX-License-Identifier: Apache-2.0
"""Plays scenarios on both drivers: Oracle.java on the JDK, and oracle_driver on this library."""

import argparse
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# A JVM that starts fast: each plays one scenario, most of which is waiting.
JAVA = [os.environ.get("CADRE_JAVA", "java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx128m"]
TIMEOUT = 60  # seconds for one scenario: one that takes longer hangs
FAILED = re.compile(r"^\((exit code -?\d+|no end after \d+ s)\)\Z", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Drivers:
    """The two command lines that a scenario's file name is added to."""

    jdk: tuple
    cadre: tuple


@dataclasses.dataclass(frozen=True)
class Played:
    jdk: str
    cadre: str

    @property
    def same(self):
        """A failure of both is no agreement: what came after it was not compared."""
        return self.jdk == self.cadre and not FAILED.search(self.jdk.rstrip("\n"))


def add_arguments(parser):
    parser.add_argument("--driver", default=ROOT / "build/release/tests/oracle_driver",
                        help="the driver over this library (%(default)s)")
    parser.add_argument("--classes", default=ROOT / "build/release/tests/oracle/classes",
                        help="where Oracle.class is (%(default)s)")
    parser.add_argument("--turns", default=ROOT / "build/release/tests/oracle/liboracle_turns.so",
                        help="what gives the JVM's threads their turns (%(default)s)")
    parser.add_argument("--real-time", action="store_true",
                        help="leave threads and time as they are, on both sides: traces may depend "
                             "on the load of the machine then")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1),
                        help="how many scenarios at once (%(default)s)")


def drivers(arguments):
    """The command lines; they need the scenario by its whole path."""
    driver, classes, turns = (pathlib.Path(p).resolve() for p in (arguments.driver, arguments.classes, arguments.turns))
    real_time = ["ORACLE_REAL_TIME=1"] if arguments.real_time else []
    # From where it is: a path may have a space, at which the list of libraries would go on.
    clock = real_time or ["--chdir", turns.parent, f"LD_PRELOAD=./{turns.name}"]
    return Drivers(jdk=("env", *clock, *JAVA, "-cp", classes, "Oracle"), cadre=("env", *real_time, driver))


def _start(command, file):
    return subprocess.Popen([*command, file.resolve()], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def _trace(process):
    try:
        trace, _ = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        trace, _ = process.communicate()
        return f"{trace}(no end after {TIMEOUT} s)\n"
    return trace if process.returncode == 0 else f"{trace}(exit code {process.returncode})\n"


def play(both, file):
    """Plays a scenario on both drivers at once."""
    jdk, cadre = _start(both.jdk, file), _start(both.cadre, file)
    return Played(jdk=_trace(jdk), cadre=_trace(cadre))


def play_all(both, files, jobs):
    """Yields (file, what was played) for each file, as they end."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        playing = {pool.submit(play, both, file): file for file in files}
        for done in concurrent.futures.as_completed(playing):
            yield playing[done], done.result()


def _blocks(trace):
    """The trace as one list of lines for each command."""
    blocks = []
    for line in trace.splitlines():
        if line.startswith("> ") or not blocks:
            blocks.append([])
        blocks[-1].append(line)
    return blocks


def side_by_side(played):
    """Both traces beside each other, command by command, with a mark where they differ."""
    rows = [("", "JDK", "cadre")]
    empty = []
    for left, right in itertools.zip_longest(_blocks(played.jdk), _blocks(played.cadre)):
        for l, r in itertools.zip_longest(left or empty, right or empty, fillvalue=""):
            rows.append(("" if l == r else "|", l, r))
    width = max(len(left) for _, left, _ in rows)
    return "\n".join(f"{left:<{width}} {mark or ' '} {right}".rstrip() for mark, left, right in rows)


def new_parser(description):
    return argparse.ArgumentParser(description=description)
