# SPDX-License-Identifier: Apache-2.0
"""Plays scenarios on both drivers: Oracle.java on the JDK, and oracle_driver on this library."""

import argparse
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# A JVM that starts fast: each plays one scenario, most of which is waiting.
JAVA = [os.environ.get("CADRE_JAVA", "java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx128m"]
TIMEOUT = 60  # seconds for one scenario: one that takes longer hangs


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
        return self.jdk == self.cadre


def add_arguments(parser):
    parser.add_argument("--driver", default=ROOT / "build/release/tests/oracle_driver",
                        help="the driver over this library (%(default)s)")
    parser.add_argument("--classes", default=ROOT / "build/release/tests/oracle/classes",
                        help="where Oracle.class is (%(default)s)")
    parser.add_argument("--jobs", type=int, default=6 * (os.cpu_count() or 1),
                        help="how many scenarios at once; they mostly wait (%(default)s)")


def drivers(arguments):
    return Drivers(jdk=(*JAVA, "-cp", str(arguments.classes), "Oracle"),
                   cadre=(str(arguments.driver),))


def _go_ahead():
    """Ahead of whatever else keeps the machine busy, where that is allowed."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except PermissionError:
        pass


def _start(command, file):
    return subprocess.Popen([*command, str(file)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, preexec_fn=_go_ahead)


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
