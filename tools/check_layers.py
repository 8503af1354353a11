#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes point the allowed way between the layers of include/cadre and src.

A file may include its own layer and the layers below it. Layers on one level do not know each
other: a queue includes no future, nor a future a queue.
"""

import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Lowest level first; several layers on one level are siblings.
LEVELS = [
    ["base"],
    ["queue", "future"],
    ["executor"],
    ["pools"],
    ["executors"],
    ["all"],
    ["manage"],
    ["cadrectl"],
]

# The layer of a file, by its path below include/cadre or src without the suffix (so X.hpp and X.cpp
# are together). The first line that matches counts.
TABLE = [
    ("detail/future_*", "future"),
    ("detail/queue_*", "queue"),
    ("detail/invoke_batch", "executor"),
    ("detail/strand_lane", "executor"),
    ("detail/timer_core", "pools"),
    ("detail/sender_*", "executors"),
    ("detail/*", "base"),
    ("cron*", "base"),
    ("errors", "base"),
    ("task", "base"),
    ("task_observer", "base"),
    ("thread", "base"),
    ("thread_factories", "base"),
    ("futex", "base"),
    ("coarse_stamp", "base"),
    ("forks", "base"),
    ("leaning_count", "base"),
    ("pause", "base"),
    ("right_of_way", "base"),
    ("wait_graph", "base"),
    ("context_lock", "base"),
    ("helper_scope", "base"),
    ("keeps_memory", "base"),
    ("report", "base"),
    ("utf8", "base"),
    ("function_ref", "base"),
    ("version", "base"),
    ("sizing", "base"),
    ("processors", "base"),
    ("control_groups", "base"),
    ("clock", "base"),
    ("testing", "base"),
    ("queue/*", "queue"),
    ("queues", "queue"),
    ("future", "future"),
    ("future_*", "future"),
    ("shared_future", "future"),
    ("executor", "executor"),
    ("parallel", "executor"),
    ("task_group", "executor"),
    ("strand*", "executor"),
    ("context", "future"),
    ("result_of", "future"),
    ("coroutine", "executors"),
    ("awaitable_queue", "executors"),
    ("tracing", "executors"),
    ("asio", "executor"),
    ("execution", "executors"),
    ("executor_service", "executor"),
    ("rejection", "pools"),
    ("thread_pool_*", "pools"),
    ("scheduled_*", "pools"),
    ("work_stealing*", "pools"),
    ("control_word", "pools"),
    ("worker", "pools"),
    ("pool_*", "pools"),
    ("timer_*", "pools"),
    ("delayed_work_queue", "pools"),
    ("executors", "executors"),
    ("completion_service", "executors"),
    ("cadre", "all"),
    ("manage/*", "manage"),
    ("cadrectl/*", "cadrectl"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def level(layer):
    return next(i for i, siblings in enumerate(LEVELS) if layer in siblings)


def layer_of(part):
    """The layer of src/X is that of detail/X, if there is such a header; else as TABLE says."""
    if (ROOT / f"include/cadre/detail/{part}.hpp").is_file():
        part = f"detail/{part}"
    return next((layer for pattern, layer in TABLE if fnmatch.fnmatchcase(part, pattern)), None)


def part_of(path):
    """The name of a file in TABLE, or None if it is not one of ours."""
    for base in (ROOT / "include/cadre", ROOT / "src"):
        if path.is_relative_to(base):
            return path.relative_to(base).with_suffix("").as_posix()
    return None


def included_part(includer, name):
    """The part that `includer` means by #include `name`, or None for a header of others."""
    if name.startswith("cadre/"):
        return part_of(ROOT / "include" / name)
    for directory in (includer.parent, ROOT / "src"):
        candidate = (directory / name).resolve()
        if candidate.is_file():
            return part_of(candidate)
    return None


def may_include(user, used):
    return user == used or level(used) < level(user)


def complaints():
    files = [
        path
        for base in ("include/cadre", "src")
        for path in sorted((ROOT / base).rglob("*"))
        if path.suffix in (".hpp", ".cpp")
    ]
    for path in files:
        shown = path.relative_to(ROOT)
        layer = layer_of(part_of(path))
        if layer is None:
            yield f"{shown}: belongs to no layer; add it to TABLE in tools/check_layers.py"
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            part = included_part(path, match[1])
            if part is None:
                continue
            used = layer_of(part)
            line = text.count("\n", 0, match.start(1)) + 1
            if used is None:
                yield f"{shown}:{line}: includes {match[1]}, which belongs to no layer"
            elif not may_include(layer, used):
                yield f"{shown}:{line}: {layer} may not include {used} ({match[1]})"


def main():
    found = list(complaints())
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
