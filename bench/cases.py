# SPDX-License-Identifier: Apache-2.0
"""What is played: a line for a peer to play, and what is read off its answer."""

import dataclasses
import statistics
from collections.abc import Callable

MORE, LESS = "more", "less"


@dataclasses.dataclass(frozen=True)
class Measure:
    """A figure of one round."""

    name: str
    unit: str
    better: str
    value: Callable[[dict], float]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # of the picture and in results.json
    workload: str  # as peers name it
    title: str
    command: str
    measures: tuple[Measure, ...]
    warm_up: str = ""  # another command, if the case itself takes long
    kept: Callable[[dict], dict] = lambda answer: answer  # what results.json keeps of an answer
    once_per_start: bool = False  # it takes long: one round for each start of the peers
    growth: int = 0  # how many there are, if it is a point in a picture of growth

    def __post_init__(self):
        if not self.warm_up:
            object.__setattr__(self, "warm_up", self.command)

    def answers_to(self, word):
        """True for `w8`, `w8a` and the name of the case; `w1` is not w10."""
        workload = self.workload.lower()
        return word in (self.name, workload, workload.rstrip("abcdefgh"))


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def tasks_per_second(tasks):
    return (Measure("throughput", "M tasks/s", MORE, lambda a: tasks / a["seconds"] / 1e6),)


def percentiles(answer):
    late = sorted(answer["late_us"])
    points = [round(quantile(late, i / 100), 1) for i in range(100)]
    return {"late_us_percentiles": points + [round(late[-1], 1)]}


def lateness(percent):
    title = "max" if percent == 100 else f"p{percent}"
    return Measure(title, "µs", LESS, lambda a: a["late_us_percentiles"][percent])


def timer_churn(name, timers, order, growth=0):
    repeats = max(1, 200_000 // timers)

    def nanoseconds(answer):
        return (answer["insert_s"] + answer["cancel_s"]) * 1e9 / (2 * timers * repeats)

    return Case(
        name=name,
        workload="W8a",
        title=f"W8a: insert {timers:,} timers, cancel all "
        + ("shuffled" if order == "shuffled" else "in the order made"),
        command=f"W8a timers={timers} order={order} repeats={repeats}",
        measures=(
            Measure("speed", "M operations/s", MORE, lambda a: 1e3 / nanoseconds(a)),
            Measure("cost", "ns an operation", LESS, nanoseconds),
        ),
        growth=growth,
    )


CASES = [
    Case(
        "w1_2_workers",
        "W1",
        "W1: 1 producer, 2 workers",
        "W1 tasks=1000000 producers=1 workers=2",
        tasks_per_second(1_000_000),
    ),
    Case(
        "w1_1_worker",
        "W1",
        "W1: 1 producer, 1 worker",
        "W1 tasks=1000000 producers=1 workers=1",
        tasks_per_second(1_000_000),
    ),
    Case(
        "w2",
        "W2",
        "W2: submit 500,000, then get all",
        "W2 tasks=500000 workers=2",
        tasks_per_second(500_000),
    ),
    Case(
        "w3",
        "W3",
        "W3: 4 producers, 2 workers",
        "W3 tasks=1000000 producers=4 workers=2",
        tasks_per_second(1_000_000),
    ),
    timer_churn("w8a_made", 10**6, "made"),
    *(timer_churn(f"w8a_shuffled_{n}", n, "shuffled", growth=n) for n in (10**3, 10**4, 10**5)),
    timer_churn("w8a_shuffled", 10**6, "shuffled", growth=10**6),
    Case(
        "w8b",
        "W8b",
        "W8b: lateness of 1,000 one-shots within 500 ms",
        "W8b timers=1000 span_ms=500",
        (lateness(50), lateness(99), lateness(100)),
        kept=percentiles,
    ),
    Case(
        "w8c",
        "W8c",
        "W8c: 2,000 periodic tasks at 10 ms for 5 s",
        "W8c tasks=2000 period_ms=10 seconds=5 workers=2",
        (
            Measure("share of runs", "", MORE, lambda a: a["share"]),
            Measure("CPU", "s", LESS, lambda a: a["cpu_s"]),
        ),
        warm_up="W8c tasks=2000 period_ms=10 seconds=1 workers=2",
        once_per_start=True,
    ),
]


def workloads():
    return sorted({case.workload for case in CASES})


def figures(results, case, measure):
    """The values of a measure in all rounds, by peer."""
    return {
        peer: [measure.value(answer) for answer in answers]
        for peer, answers in results["cases"][case.name]["peers"].items()
    }


def medians(results, case, measure):
    return {p: statistics.median(v) for p, v in figures(results, case, measure).items()}
