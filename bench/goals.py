# SPDX-License-Identifier: Apache-2.0
"""The goals, and whether a run reached them."""

import dataclasses
import math
from collections.abc import Callable

import cases
import report
from cases import MORE, is_jdk

POOLS = ("cadre", "cadre_array")
STEALING = ("cadre_stealing",)
TIMERS = ("cadre",)
MONITORED = ("cadre_monitored",)


def anybody(_peer):
    return True


def is_cpp(peer):
    return not is_jdk(peer)


def only(*names):
    return lambda peer: peer in names


@dataclasses.dataclass(frozen=True)
class Goal:
    """A figure of ours is so many times that of the best of some others, or so much."""

    title: str
    case: str
    ours: tuple[str, ...]
    factor: float
    than: Callable[[str], bool] | None = anybody  # None: the factor is the figure itself
    whom: str = "the best peer"
    measure: int = 0
    moonshot: float | None = None
    beyond: str = ""  # a limit that the moonshot is to pass besides
    limit: str = ""  # the peer that is what the machine allows, instead of the best of others

    def look(self, case, results):
        """Yields (status, text) for each of ours that has played the case."""
        measure = case.measures[self.measure]
        values = cases.medians(results, case, measure)
        other = self.other(values, measure)
        if self.than and not other:
            return
        sign = "≥" if measure.better == MORE else "≤"
        for ours in self.ours:
            if ours not in values:
                continue
            got = quotient(values[ours], other[1]) if self.than else values[ours]
            told = f"{got:.2f} × {other[0]}" if self.than else with_unit(got, measure)
            wanted = f"{self.factor:g} × {self.whom}" if self.than else with_unit(
                self.factor, measure
            )
            if self.than and is_tie(results, case, measure, ours, other[0]):
                told += ", a tie"
            text = f"{self.title}, {ours}: {told} (goal: {sign} {wanted})"
            if self.moonshot and reached(got, self.moonshot, measure.better):
                text += self.told_moonshot(values, ours)
            yield ("pass" if reached(got, self.factor, measure.better) else "FAIL"), text

    def told_moonshot(self, values, ours):
        told = f", and the moonshot of {self.moonshot:g}"
        if self.beyond and self.beyond not in values:
            return f"{told}, if it is above {self.beyond}, too"
        if self.beyond and values[ours] <= values[self.beyond]:
            return f"{told}, but not above {self.beyond}"
        return told

    def lacks_others(self, case, results):
        """True if ours played the case and nobody to compare with did."""
        values = cases.medians(results, case, case.measures[self.measure])
        return self.than and not values.keys().isdisjoint(self.ours) and not self.other(
            values, case.measures[self.measure]
        )

    def other(self, values, measure):
        if self.limit:
            return (self.limit, values[self.limit]) if self.limit in values else None
        return report.best_other(values, measure.better, self.than) if self.than else None


def quotient(one, other):
    return one / other if other else (math.inf if one else 1.0)


def reached(got, wanted, better):
    return got >= wanted if better == MORE else got <= wanted


def with_unit(value, measure):
    return f"{report.shown(value)} {measure.unit}".rstrip()


def is_tie(results, case, measure, one, other):
    """Less than 1.5 × apart, and the middle halves overlap: another sitting may turn it round."""
    spreads = cases.figures(results, case, measure)
    middle, low, high = report.spread(spreads[one])
    other_middle, other_low, other_high = report.spread(spreads[other])
    near = 1 / 1.5 < quotient(middle, other_middle) < 1.5
    return near and low <= other_high and other_low <= high


GOALS = [
    Goal("W1", "w1_2_workers", POOLS, 1.5, moonshot=2, beyond="raw_moodycamel_bulk"),
    Goal("W1 with 1 worker", "w1_1_worker", POOLS, 1.2, moonshot=2),
    Goal("W2", "w2", POOLS, 1.3, is_jdk, "the JDK's best", moonshot=2),
    Goal("W2", "w2", POOLS, 4, is_cpp, "the best C++ peer"),
    Goal("W3", "w3", POOLS, 1.5, moonshot=2, beyond="raw_moodycamel_bulk"),
    Goal("W4", "w4", STEALING, 1, only("jdk_fork_join"), "ForkJoinPool", moonshot=1.3),
    Goal("W4", "w4", STEALING, 1.5, is_cpp, "the best C++ peer"),
    Goal("W4", "w4", POOLS, 1.5, only("jdk", "jdk_array"), "the JDK's ThreadPoolExecutor"),
    Goal("W5 start", "w5_start", POOLS, 1.2, whom="the futex", limit="raw", moonshot=1.05),
    Goal("W5 round trip", "w5_round_trip", POOLS, 1.2, whom="the futex", limit="raw",
         moonshot=1.05),
    Goal("W5 start, CPU", "w5_start", POOLS, 1, measure=2),
    Goal("W5 round trip, CPU", "w5_round_trip", POOLS, 1, measure=2),
    Goal("W6", "w6", POOLS, 0.9, than=None, moonshot=0.95),
    Goal("W6", "w6", POOLS, 1),
    Goal("W7 blocking put", "w7_put", POOLS, 1.5, is_jdk, "the JDK's best", moonshot=2),
    Goal("W7 caller runs", "w7_caller_runs", POOLS, 1, is_jdk, "the JDK's best"),
    Goal("W8a in the order made", "w8a_made", TIMERS, 3, is_jdk, "the JDK", moonshot=6),
    Goal("W8a shuffled", "w8a_shuffled", TIMERS, 3, is_jdk, "the JDK", moonshot=6),
    Goal("W8b p50", "w8b", TIMERS, 1),
    Goal("W8b p99", "w8b", TIMERS, 1, measure=1),
    Goal("W8c runs", "w8c", TIMERS, 1, than=None),
    Goal("W8c CPU", "w8c", TIMERS, 0.7, measure=1, moonshot=0.5),
    Goal("W9 captures of 48 bytes", "w9_48_bytes", POOLS, 64, than=None),
    Goal("W9 idle pool, memory", "w9_idle", POOLS, 1.2, than=None),
    Goal("W9 idle pool, CPU", "w9_idle", POOLS, 0.1, than=None, measure=1),
    Goal("W10", "w10", POOLS, 1.3, whom="a thread made and joined", limit="raw"),
    Goal("W11 monitor, throughput", "w11", MONITORED, 0.95, than=None),
    Goal("W11 monitor, CPU", "w11", MONITORED, 1.05, than=None, measure=1),
    Goal("W11 monitor, queued first, throughput", "w11_queued", MONITORED, 0.95, than=None),
    Goal("W11 monitor, queued first, CPU", "w11_queued", MONITORED, 1.05, than=None, measure=1),
]


@dataclasses.dataclass(frozen=True)
class Growth:
    """How the cost of one grows with the number of them, from each point to the next or in all."""

    title: str
    growth: str
    ours: tuple[str, ...]
    most: float
    each_step: bool  # else from the cheapest to the dearest
    told: str

    def look(self, played, results):
        points = sorted((c for c in played if c.growth == self.growth), key=lambda c: c.size)
        by_point = [cases.medians(results, c, c.measures[-1]) for c in points]
        if len(points) < 2:
            return
        for ours in self.ours:
            costs = [values[ours] for values in by_point if ours in values]
            if len(costs) < len(points):
                continue
            got = max(self.ratios(costs))  # none of them is 0: that was refused as an answer
            first, last = f"{points[0].size:,}", f"{points[-1].size:,}"
            text = f"{self.title}, {ours}, {first} to {last}: {self.told} up to {got:.2f} ×"
            yield ("pass" if got <= self.most else "FAIL"), f"{text} (goal: ≤ {self.most:g} ×)"

    def ratios(self, costs):
        if self.each_step:
            return [after / before for before, after in zip(costs, costs[1:])]
        return [max(costs) / min(costs)]


# A cost that grows with the number would be 10 times as high at ten times as many.
GROWTHS = [
    Growth("Growth, queued tasks", "queued", POOLS, 2, False, "a task costs"),
    Growth("Growth, workers", "workers", POOLS, 2, False, "a task costs"),
    Growth("Growth, timers (logarithmic)", "timers", TIMERS, 3, True, "ten times as many cost"),
]


def look(played, results):
    """All goals that can be told from what was played, as (status, text)."""
    lines = []
    for goal in GOALS:
        for case in played:
            if goal.case in (case.name, case.base):
                variant = case.title.partition(";")[2]
                lines += [
                    (status, text + (f" with{variant}" if variant else ""))
                    for status, text in goal.look(case, results)
                ]
    for growth in GROWTHS:
        lines += growth.look(played, results)
    return lines


def without_others(played, results):
    """The goals that cannot be told, because only ours played."""
    return [
        f"{goal.title} beside {goal.whom}"
        for goal in GOALS
        for case in played
        if goal.case in (case.name, case.base) and goal.lacks_others(case, results)
    ]


def print_goals(played, results):
    lines = look(played, results)
    if lines:
        print("\nGoals (ratios of medians of this run)")
        for status, text in lines:
            print(f"  {status}  {text}")
        reached_all = sum(status == "pass" for status, _ in lines)
        print(f"{reached_all} of {len(lines)} goals are reached\n")
    if untold := without_others(played, results):
        print(f"Goals that cannot be told, for nobody else played: {'; '.join(untold)}\n")
