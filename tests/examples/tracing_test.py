# SPDX-License-Identifier: Apache-2.0
"""The trace that the example tracing writes is what viewers of Chrome's trace format expect."""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as directory:
    file = pathlib.Path(directory) / "trace.json"
    said = subprocess.run([sys.argv[1], str(file)], capture_output=True, text=True, check=True).stdout
    trace = json.loads(file.read_bytes().decode("utf-8"))
assert "a trace of 6 tasks" in said, said

events = collections.defaultdict(list)
for event in trace["traceEvents"]:
    assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
    assert isinstance(event["name"], str), event
    assert event["ph"] == "M" or event["ts"] >= 0, event
    events[event["ph"]].append(event)
assert set(events) == {"X", "B", "E", "s", "f", "M"}, set(events)

# A bar for each run, with its name and how long it waited.
runs = events["X"]
names = collections.Counter(run["name"] for run in runs)
assert names == {"order": 2, "pay": 2, "pack": 2}, names
assert all(run["dur"] >= 0 and run["args"]["waited_us"] >= 0 and run["cat"] == "shop" for run in runs)

# An arrow to each, from where and when it was submitted.
starts = {event["id"]: event for event in events["s"]}
ends = {event["id"]: event for event in events["f"]}
assert len(starts) == len(ends) == len(runs) and starts.keys() == ends.keys()
for number, start in starts.items():
    end = ends[number]
    assert (start["name"], start["cat"]) == (end["name"], end["cat"]) and start["ts"] <= end["ts"]
    assert end["bp"] == "e"
    assert any(run["ts"] == end["ts"] and run["tid"] == end["tid"] for run in runs), end
    for mark in events["B"], events["E"]:  # the submission, for the arrow to begin at
        assert any(
            (each["name"], each["ts"], each["tid"]) == ("submit " + start["name"], start["ts"], start["tid"])
            for each in mark
        ), start

# A row for each thread, with its name; on a row one run ends before the next begins.
rows = {event["tid"]: event["args"]["name"] for event in events["M"] if event["name"] == "thread_name"}
assert {event["tid"] for kind in "XBEsf" for event in events[kind]} == rows.keys(), rows
assert all(rows[run["tid"]].startswith("shop-thread-") for run in runs), rows
for row in rows:
    spans = sorted((run["ts"], run["ts"] + run["dur"]) for run in runs if run["tid"] == row)
    assert all(a[1] <= b[0] + 0.001 for a, b in zip(spans, spans[1:])), spans
