# SPDX-License-Identifier: Apache-2.0
"""Peers: programs that play workloads. What they say is not trusted; the protocol is told in
bench/README.md."""

import json
import math
import os
import pathlib
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time

import cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILT = ROOT / "build/bench/bench"
HELLO_WITHIN = 10  # seconds
LONGEST_LINE = 1 << 26  # bytes
JAVA = ["java", "-Xms1g", "-cp", str(BUILT / "java"), "BenchPeer"]
JDK_POOLS = {"jdk": "linked", "jdk_array": "array", "jdk_fork_join": "fork_join"}


class PeerFailed(Exception):
    pass


class PeerRefused(PeerFailed):
    """It answered, and goes on."""


class PeerSilent(PeerFailed):
    """It had its time."""


def parsed(line):
    """A line as a JSON object."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise PeerFailed(f"answered {line[:80]!r}")
    return told


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check_answer(answer):
    """Throws if it is anything but numbers, and lists of them, or if something took no time."""
    for key, value in answer.items():
        is_list = isinstance(value, list)
        if not (all(map(is_number, value)) and value if is_list else is_number(value)):
            raise PeerRefused(f"its answer cannot be used: {key} is {json.dumps(value):.40}")
        if key in cases.TIMES and value <= 0:
            raise PeerRefused(f"its answer cannot be used: {key} is {value}")


def check_hello(hello):
    if hello.get("protocol") != 1:
        raise PeerFailed("speaks another protocol")
    names = hello.get("workloads")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PeerFailed("does not say which workloads it plays, as a list of names")
    if not isinstance(hello.get("warm_up", 0), int):
        raise PeerFailed(f"wants to warm up {hello['warm_up']!r} times")


class Peer:
    """A program that plays workloads; started when first asked."""

    def __init__(self, name, command, patience):
        self.name = name
        self.command = command
        self.patience = patience  # seconds
        self.process = None
        self.hello = {}
        self.unread = b""

    def start(self):
        self.stop()
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # so that what it starts can be ended with it
        )
        self.unread = bytearray()
        try:
            hello = self.read(HELLO_WITHIN)
            check_hello(hello)
        except PeerFailed:
            self.stop(at_once=True)
            raise
        self.hello = hello

    def stop(self, at_once=False):
        if not self.process:
            return
        if at_once:
            self.kill()
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it has ended, with a request unread
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process = None

    def kill(self):
        """Ends it, and what it has started itself."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def ask(self, line):
        if self.unread or self.has_more(0):
            raise PeerFailed(f"said more than it was asked for: {self.read_line(1)[:80]!r}")
        try:
            self.process.stdin.write(line.encode() + b"\n")
        except OSError as error:
            raise PeerFailed(self.ended()) from error
        answer = self.read(self.patience)
        if "error" in answer:
            raise PeerRefused(answer["error"])
        check_answer(answer)
        return answer

    def read(self, within):
        """The next line, as a JSON object."""
        return parsed(self.read_line(within))

    def read_line(self, within):
        deadline = time.monotonic() + within
        more = self.unread
        while b"\n" not in more:
            if len(self.unread) > LONGEST_LINE:
                raise PeerFailed(f"answered {bytes(self.unread[:80])!r} without end")
            rest = deadline - time.monotonic()
            if rest <= 0 or not self.has_more(rest):
                raise PeerSilent(f"gave no answer within {within:g} s")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                raise PeerFailed(self.ended())
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return bytes(line)

    def has_more(self, within):
        return bool(select.select([self.process.stdout], [], [], within)[0])

    def ended(self):
        """How it ended: its exit code, or the signal."""
        try:
            code = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "has closed its output"
        return f"has ended by {signal.Signals(-code).name}" if code < 0 else f"has ended with {code}"


def known_peers():
    """What was built, by name."""
    found = {}
    for program in sorted(BUILT.glob("bench_peer_*")):
        name = program.name.removeprefix("bench_peer_")
        # One without an adapter was built before that was removed.
        if (ROOT / f"bench/adapters/{name}.cpp").exists() and os.access(program, os.X_OK):
            found[name] = [str(program)]
    if (BUILT / "java/BenchPeer.class").exists() and shutil.which("java"):
        found |= {name: [*JAVA, pool] for name, pool in JDK_POOLS.items()}
    return found


def chosen_peers(wanted, patience):
    """The peers of a list such as `cadre,jdk,mine=/path/to/program`. `jdk` is also jdk_array."""
    known = known_peers()
    if not wanted:
        return [Peer(name, command, patience) for name, command in known.items()]
    chosen = {}
    for word in filter(None, wanted.split(",")):
        name, equals, command = word.partition("=")
        if equals:
            chosen[name] = shlex.split(command)
            if not name or not chosen[name]:
                sys.exit(f"bench: --peers {word}: not of the form name=/path/to/exe")
            continue
        family = [one for one in known if one == name or one.startswith(name + "_")]
        if not family:
            sys.exit(f"bench: no peer {name}; there are {', '.join(known)}, or name=/path/to/exe")
        chosen |= {one: known[one] for one in family}
    return [Peer(name, command, patience) for name, command in chosen.items()]
