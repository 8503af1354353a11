# SPDX-License-Identifier: Apache-2.0
"""What is played: a line for a peer to play, and what is read off its answer."""

import dataclasses
import itertools
import os
import statistics
from collections.abc import Callable

MORE, LESS = "more", "less"
EVERY_ROUND, EVERY_START, EVERY_SECOND_START = "round", "start", "second start"

# The parameters that peers know, by workload; what a case does not set is left to the peer.
THROUGHPUT = {"tasks", "producers", "workers", "burst", "pause_us"}
PARAMETERS = {
    "W1": THROUGHPUT | {"capture"},
    "W2": {"tasks", "workers", "capture"},
    "W3": THROUGHPUT | {"capture"},
    "W4": {"n", "workers"},
    "W5a": {"samples", "interval_us", "workers"},
    "W5b": {"samples", "interval_us", "workers"},
    "W6": THROUGHPUT | {"work_ns", "long_ns", "long_every"},
    "W7a": THROUGHPUT | {"capacity"},
    "W7b": THROUGHPUT | {"capacity"},
    "W8a": {"timers", "order", "repeats"},
    "W8b": {"timers", "span_ms"},
    "W8c": {"tasks", "period_ms", "seconds", "workers"},
    "W9a": {"tasks", "workers", "capture", "repeats"},
    "W9b": {"workers", "idle_ms"},
    "W10": {"workers", "repeats"},
    "W11": {"tasks", "workers", "queued", "repeats"},
}


WORDS = {"order": ("made", "shuffled"), "queued": ("meanwhile", "first")}
MAY_BE_0 = {"pause_us", "capture"}
NEEDS = {"pause_us": "burst", "long_ns": "long_every", "long_every": "long_ns"}


# What peers answer that is longer than no time at all, in seconds.
TIMES = {"seconds", "insert_s", "cancel_s", "fill_s", "drain_s", "monitored_s"}


def wrong_value(key, value):
    """Why a parameter cannot have it; nothing if it can."""
    if key in WORDS:
        return "" if value in WORDS[key] else f"must be {' or '.join(WORDS[key])}"
    least = 0 if key in MAY_BE_0 else 1
    return "" if isinstance(value, int) and value >= least else f"must be a number from {least} on"


def is_ours(peer):
    return peer == "cadre" or peer.startswith("cadre_")


def is_jdk(peer):
    return peer == "jdk" or peer.startswith("jdk_")


@dataclasses.dataclass(frozen=True)
class Measure:
    """A figure of one round, from what the peer answered and what it was asked."""

    name: str
    unit: str
    better: str
    value: Callable[[dict, dict], float]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # of the picture and in results.json
    workload: str  # as peers name it
    title: str
    parameters: dict
    measures: tuple[Measure, ...]
    warm_up: dict = dataclasses.field(default_factory=dict)  # what is different then
    kept: Callable[[dict, dict], dict] = lambda answer, asked: answer  # in results.json
    often: str = EVERY_ROUND  # what takes long is played less often
    fresh: bool = False  # on a program of its own: memory used before would hide what it takes
    growth: str = ""  # the picture of growth that it is a point of
    size: int = 0  # where in that picture
    only_growth: bool = False  # no case of its own
    played_by: Callable[[str], bool] = lambda peer: True
    base: str = ""  # of a variant: the name of the case it comes from

    def answers_to(self, word):
        """True for `w8`, `w8a` and the name of the case; `w1` is not w10."""
        names = {self.name, self.base}
        if self.growth:
            names |= {"growth", f"growth_{self.growth}"}
        if not self.only_growth:
            workload = self.workload.lower()
            names |= {workload, workload.rstrip("abc")}
        return word in names

    def is_played(self, number, rounds_per_start):
        """True if it is played in this round; the first one has all cases."""
        step = {EVERY_START: 1, EVERY_SECOND_START: 2}.get(self.often)
        return step is None or number % (step * rounds_per_start) == 0

    def command(self, changes=None):
        asked = self.parameters | (changes or {})
        return " ".join([self.workload, *(f"{key}={value}" for key, value in asked.items())])

    def variant(self, changes):
        """The same with some parameters changed; nothing if it does not know one of them."""
        if not set(changes) <= PARAMETERS[self.workload]:
            return None
        told = ", ".join(f"{key}={value}" for key, value in changes.items())
        return dataclasses.replace(
            self,
            name=f"{self.name}: {told}",
            title=f"{self.title}; {told}",
            parameters=self.parameters | changes,
            warm_up={key: v for key, v in self.warm_up.items() if key not in changes},
            base=self.name,
            growth="",
        )

    def impossible(self):
        """Why nobody can play it; nothing if it can be played."""
        for key, needed in NEEDS.items():
            if key in self.parameters and needed not in self.parameters:
                return f"{key} means nothing without {needed}"
        producers, tasks = self.parameters.get("producers", 1), self.parameters.get("tasks", 1)
        burst, every = self.parameters.get("burst", tasks), self.parameters.get("long_every", 0)
        if "producers" in self.parameters and min(tasks, burst) < producers:
            return f"{min(tasks, burst)} tasks at once are too few for {producers} producers"
        if min(tasks, burst) // producers < every:
            return f"no producer gives {every} tasks at once, the last of which would be long"
        return ""


def variants(chosen, vary):
    """Each case with every combination of `vary`: `{"workers": [3, 4], "capture": [8]}`."""
    if not vary:
        return chosen
    combinations = [dict(zip(vary, values)) for values in itertools.product(*vary.values())]
    made = [case.variant(c) for case in chosen if not case.only_growth for c in combinations]
    # Two cases of which the variants are the same are one: those of W1, if the workers are told.
    first = {case.command(): case for case in reversed(made) if case}
    return [case for case in made if case and case is first[case.command()]]


def short(parameters, much_shorter=False):
    """For a warm-up that only has to touch everything once: in little time, with all its memory."""
    less = {"samples": 20, "repeats": 1, "idle_ms": 10, "seconds": 1}
    share = 10 if much_shorter else 1
    return {key: less[key] for key in parameters if key in less} | {
        key: max(1000, parameters[key] // share) for key in ("tasks", "timers") if key in parameters
    }


# ---- measures


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def tasks_of(answer, asked):
    """What it was asked to play, unless it says that it played fewer."""
    return answer.get("tasks", asked.get("tasks"))


THROUGHPUTS = (
    Measure("throughput", "M tasks/s", MORE, lambda a, q: tasks_of(a, q) / a["seconds"] / 1e6),
)


def percentiles(field):
    """Keeps 101 points of a long list of figures, and what else there is."""

    def kept(answer, _asked):
        taken = sorted(answer[field])
        points = [round(quantile(taken, i / 100), 1) for i in range(100)]
        rest = {key: value for key, value in answer.items() if key != field}
        return rest | {f"{field}_percentiles": points + [round(taken[-1], 1)]}

    return kept


def percentile(field, percent):
    title = "max" if percent == 100 else f"p{percent}"
    return Measure(title, "µs", LESS, lambda a, q: a[f"{field}_percentiles"][percent])


def long_tasks(asked):
    """How many there are: each producer counts its share of each burst anew."""
    every, producers = asked.get("long_every", 0), asked.get("producers", 1)
    if not every:
        return 0
    own = asked["tasks"] // producers
    own_burst = asked.get("burst", asked["tasks"]) // producers
    return producers * (own // own_burst * (own_burst // every) + own % own_burst // every)


def with_ideal_time(answer, asked):
    """What the work would take if nothing else took any."""
    some = long_tasks(asked)
    work_ns = (asked["tasks"] - some) * asked["work_ns"] + some * asked.get("long_ns", 1000)
    at_once = min(asked["workers"], len(os.sched_getaffinity(0)))
    return answer | {"ideal_s": work_ns * 1e-9 / at_once}


CPU_PER_WAKE = Measure("CPU a wake-up", "µs", LESS, lambda a, q: a["cpu_us"])


# ---- cases


def latency(name, workload, title):
    return Case(
        name,
        workload,
        title,
        {"samples": 300, "interval_us": 1000, "workers": 2},
        (percentile("us", 50), percentile("us", 99), CPU_PER_WAKE),
        warm_up={"samples": 50},
        kept=percentiles("us"),
        often=EVERY_START,
    )


def bounded(name, workload, title):
    parameters = {"tasks": 1_000_000, "producers": 1, "workers": 2, "capacity": 1024}
    return Case(name, workload, title, parameters, THROUGHPUTS)


def timer_churn(name, timers, order, **more):
    repeats = max(1, 200_000 // timers)

    def nanoseconds(answer, asked):
        operations = 2 * asked["timers"] * asked["repeats"]
        return (answer["insert_s"] + answer["cancel_s"]) * 1e9 / operations

    return Case(
        name=name,
        workload="W8a",
        title=f"W8a: insert {timers:,} timers, cancel all "
        + ("shuffled" if order == "shuffled" else "in the order made"),
        parameters={"timers": timers, "order": order, "repeats": repeats},
        measures=(
            Measure("speed", "M operations/s", MORE, lambda a, q: 1e3 / nanoseconds(a, q)),
            Measure("cost", "ns an operation", LESS, nanoseconds),
        ),
        often=EVERY_SECOND_START if timers >= 10**6 else EVERY_START,
        **more,
    )


def queued(tasks):
    """A point of growth: how long tasks take when so many of them are queued."""
    repeats = max(1, 200_000 // tasks)

    def nanoseconds(answer, asked):
        return (answer["fill_s"] + answer["drain_s"]) * 1e9 / (asked["tasks"] * asked["repeats"])

    return Case(
        name=f"queued_{tasks}",
        workload="W9a",
        title=f"Growth: {tasks:,} tasks queued, then run by 1 worker",
        parameters={"tasks": tasks, "workers": 1, "capture": 8, "repeats": repeats},
        measures=(Measure("cost", "ns a task", LESS, nanoseconds),),
        warm_up={"tasks": min(tasks, 200_000)},
        often=EVERY_SECOND_START if tasks >= 10**7 else EVERY_START,
        growth="queued",
        size=tasks,
        only_growth=True,
        # Others take up to 270 bytes for each.
        played_by=lambda peer: tasks < 10**7 or is_ours(peer) or is_jdk(peer),
    )


def many_workers(workers):
    return Case(
        name=f"workers_{workers}",
        workload="W1",
        title=f"Growth: W1 with 100,000 tasks, {workers} workers",
        parameters={"tasks": 100_000, "producers": 1, "workers": workers},
        measures=(
            Measure("cost", "ns a task", LESS, lambda a, q: a["seconds"] * 1e9 / q["tasks"]),
        ),
        often=EVERY_SECOND_START if workers >= 16 else EVERY_START,
        growth="workers",
        size=workers,
        only_growth=True,
    )


def footprint(name, title, capture):
    return Case(
        name,
        "W9a",
        title,
        {"tasks": 2_000_000, "workers": 1, "capture": capture},
        (Measure("memory", "bytes a task", LESS, lambda a, q: round(a["bytes"])),),
        often=EVERY_SECOND_START,
        fresh=True,
    )


def monitored(name, title, tasks, queued):
    """What a monitor costs: throughput and processor time as shares of those without one."""

    def throughput(answer, _asked):
        return answer["seconds"] / answer["monitored_s"]

    def cpu(answer, _asked):
        return answer["monitored_cpu_ns"] / answer["cpu_ns"]

    return Case(
        name,
        "W11",
        title,
        {"tasks": tasks, "workers": 2, "queued": queued, "repeats": 3},
        (
            Measure("throughput", "× without", MORE, throughput),
            Measure("CPU", "× without", LESS, cpu),
            Measure("CPU without", "ns a task", LESS, lambda a, q: a["cpu_ns"]),
        ),
    )


CASES = [
    Case(
        "w1_2_workers",
        "W1",
        "W1: 1 producer, 2 workers",
        {"tasks": 1_000_000, "producers": 1, "workers": 2},
        THROUGHPUTS,
    ),
    Case(
        "w1_1_worker",
        "W1",
        "W1: 1 producer, 1 worker",
        {"tasks": 1_000_000, "producers": 1, "workers": 1},
        THROUGHPUTS,
    ),
    Case(
        "w2",
        "W2",
        "W2: submit 500,000, then get all",
        {"tasks": 500_000, "workers": 2},
        THROUGHPUTS,
    ),
    Case(
        "w3",
        "W3",
        "W3: 4 producers, 2 workers",
        {"tasks": 1_000_000, "producers": 4, "workers": 2},
        THROUGHPUTS,
    ),
    Case("w4", "W4", "W4: fib(24), each task makes two", {"n": 24, "workers": 2}, THROUGHPUTS),
    latency("w5_start", "W5a", "W5: an idle pool, from execute to the start of the task"),
    latency("w5_round_trip", "W5b", "W5: an idle pool, submit and get"),
    Case(
        "w6",
        "W6",
        "W6: 200,000 tasks of 1 µs, 2 workers",
        {"tasks": 200_000, "producers": 1, "workers": 2, "work_ns": 1000},
        (Measure("ideal / real time", "", MORE, lambda a, q: a["ideal_s"] / a["seconds"]),),
        kept=with_ideal_time,
    ),
    bounded("w7_caller_runs", "W7a", "W7: a queue of 1,024, the caller runs what finds it full"),
    bounded("w7_put", "W7b", "W7: a queue of 1,024, the caller waits for a place"),
    timer_churn("w8a_made", 10**6, "made"),
    timer_churn("w8a_shuffled", 10**6, "shuffled", growth="timers", size=10**6),
    Case(
        "w8b",
        "W8b",
        "W8b: lateness of 1,000 one-shots within 500 ms",
        {"timers": 1000, "span_ms": 500},
        (percentile("late_us", 50), percentile("late_us", 99), percentile("late_us", 100)),
        kept=percentiles("late_us"),
    ),
    Case(
        "w8c",
        "W8c",
        "W8c: 2,000 periodic tasks at 10 ms for 5 s",
        {"tasks": 2000, "period_ms": 10, "seconds": 5, "workers": 2},
        (
            Measure("share of runs", "", MORE, lambda a, q: a["share"]),
            Measure("CPU", "s", LESS, lambda a, q: a["cpu_s"]),
        ),
        warm_up={"seconds": 1},
        often=EVERY_SECOND_START,
    ),
    footprint("w9_empty", "W9: memory of 2,000,000 queued empty tasks", 8),
    footprint("w9_48_bytes", "W9: the same with captures of 48 bytes", 48),
    Case(
        "w9_idle",
        "W9b",
        "W9: an idle pool of 100 threads",
        {"workers": 100, "idle_ms": 300},
        (
            Measure("memory", "MB", LESS, lambda a, q: a["bytes"] / 1e6),
            Measure("CPU", "% of a core", LESS, lambda a, q: a["cpu_share"] * 100),
        ),
        often=EVERY_SECOND_START,
        fresh=True,
    ),
    Case(
        "w10",
        "W10",
        "W10: make a pool of 8 threads, run a task, destroy it",
        {"workers": 8, "repeats": 100},
        (Measure("time", "µs", LESS, lambda a, q: a["us"]),),
    ),
    monitored("w11", "W11: empty tasks with a monitor, 2 workers", 1_000_000, "meanwhile"),
    monitored("w11_queued", "W11: the same, all queued before the workers begin", 1_000_000, "first"),
    *(queued(10**power) for power in range(3, 8)),
    *(many_workers(2**power) for power in range(7)),
    *(
        timer_churn(
            f"timers_{10**power}",
            10**power,
            "shuffled",
            growth="timers",
            size=10**power,
            only_growth=True,
        )
        for power in range(3, 6)
    ),
]


def workloads():
    return sorted({case.workload for case in CASES}, key=lambda w: (len(w.rstrip("abc")), w))


# ---- results


def figures(results, case, measure):
    """The values of a measure in all rounds, by peer."""
    stored = results["cases"][case.name]
    return {
        peer: [measure.value(answer, stored["parameters"]) for answer in answers]
        for peer, answers in stored["peers"].items()
    }


def medians(results, case, measure):
    return {p: statistics.median(v) for p, v in figures(results, case, measure).items()}
