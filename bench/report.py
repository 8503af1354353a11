# SPDX-License-Identifier: Apache-2.0
"""Tables of medians, and whether the goals are reached."""

import json
import re
import statistics

import cases
from cases import LESS, MORE

RAW_LIMITS = "raw"  # peers named so are what the machine allows, no pools to compare with


def is_ours(peer):
    return peer == "cadre" or peer.startswith("cadre_")


def is_pool(peer):
    return not peer.startswith(RAW_LIMITS)


def is_jdk(peer):
    return peer == "jdk" or peer.startswith("jdk_")


def spread(values):
    """Median and middle half."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def shown(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def compact_json(results):
    """Indented, but a list of numbers and the answer of a round are one line each."""
    text = json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False)
    flat = re.compile(r"[\[{][^\[\]{}]*[\]}]")
    within = re.compile(r'\{\s*"late_us_percentiles": (\[[^\]]*\])\s*\}')
    text = flat.sub(lambda m: re.sub(r"\s*\n\s*", " ", m[0]), text)
    return within.sub(lambda m: '{ "late_us_percentiles": ' + m[1] + " }", text) + "\n"


def best_other(values, better, accept=lambda peer: True):
    """The best of the others, as (peer, value); nothing if there is none."""
    others = {p: v for p, v in values.items() if not is_ours(p) and is_pool(p) and accept(p)}
    if not others:
        return None
    pick = max if better == MORE else min
    peer = pick(others, key=others.get)
    return peer, others[peer]


def print_tables(played, results):
    for case in played:
        stored = results["cases"][case.name]
        rounds = max(len(answers) for answers in stored["peers"].values())
        print(f"\n{case.title}   (medians of {rounds}, middle half)")
        print_case(case, results)


def print_case(case, results):
    columns = [cases.figures(results, case, measure) for measure in case.measures]
    middle = [cases.medians(results, case, measure) for measure in case.measures]
    titles = [f"{m.name}, {m.unit}" if m.unit else m.name for m in case.measures]
    print(" " * 18 + "".join(f"{title:<30}" for title in titles).rstrip())
    first = case.measures[0]
    order = sorted(middle[0], key=middle[0].get, reverse=first.better == MORE)
    for peer in order:
        cells = []
        for column in columns:
            median, low, high = spread(column[peer])
            cells.append(f"{shown(median):<8}[{shown(low)} – {shown(high)}]")
        print(f"  {peer:<16}" + "".join(f"{cell:<30}" for cell in cells).rstrip())
    for ours in filter(is_ours, order):
        cells = []
        for measure, values in zip(case.measures, middle):
            best = best_other(values, measure.better)
            cells.append(f"{ratio(values[ours], best[1])} {best[0]}" if best else "")
        if any(cells):
            print(f"  {ours + ' is':<16}" + "".join(f"{cell:<30}" for cell in cells).rstrip())


def ratio(ours, other):
    return f"{ours / other:.2f} ×" if other else "– ×"


# ---- goals


class Goals:
    """The goals for the cases that were played."""

    def __init__(self, played, results):
        self.cases = {case.name: case for case in played}
        self.results = results
        self.lines = []

    def medians(self, name, measure=0):
        """By peer; nothing if the case was not played, or not by us."""
        case = self.cases.get(name)
        values = cases.medians(self.results, case, case.measures[measure]) if case else {}
        return values if any(map(is_ours, values)) else {}

    def tell(self, reached, text):
        self.lines.append((reached, text))

    def against_best(self, name, title, goal, accept=lambda peer: True, whom="the best peer"):
        """Throughput of each of ours in proportion to the best of some others."""
        values = self.medians(name)
        best = best_other(values, MORE, accept)
        if not best:
            return
        for ours in filter(is_ours, values):
            got = values[ours] / best[1]
            text = f"{title}, {ours}: {got:.2f} × {best[0]} (goal: ≥ {goal} × {whom})"
            self.tell(got >= goal, text)

    def at_most_best(self, name, measure, title, factor=1.0):
        values = self.medians(name, measure)
        best = best_other(values, LESS)
        if not best:
            return
        for ours in filter(is_ours, values):
            got = values[ours] / best[1]
            text = f"{title}, {ours}: {got:.2f} × {best[0]} (goal: ≤ {factor:g} × the best peer)"
            self.tell(got <= factor, text)

    def every_run(self):
        for ours, share in self.medians("w8c", 0).items():
            if is_ours(ours):
                self.tell(share >= 1, f"W8c runs, {ours}: {share:.4f} of the expected (goal: all)")

    def timer_growth(self, most=3.0):
        """Logarithmic: no decade makes an operation much dearer; a linear one would by ten."""
        points = {
            case.growth: self.medians(name, 1)
            for name, case in self.cases.items()
            if case.growth and case.workload == "W8a" and self.medians(name)
        }
        sizes = sorted(points)
        for ours in filter(is_ours, points[sizes[0]] if len(sizes) > 1 else {}):
            costs = [points[size][ours] for size in sizes]
            steps = [after / before for before, after in zip(costs, costs[1:])]
            text = f"W8a growth, {ours}: a decade of timers costs up to {max(steps):.2f} ×"
            self.tell(max(steps) <= most, f"{text} an operation (goal: ≤ {most:g} ×, logarithmic)")

    def look(self):
        self.against_best("w1_2_workers", "W1", 1.5)
        self.against_best("w1_1_worker", "W1 with 1 worker", 1.2)
        self.against_best("w2", "W2", 1.3, is_jdk, "the JDK's best")
        self.against_best("w2", "W2", 4, lambda peer: not is_jdk(peer), "the best C++ peer")
        self.against_best("w3", "W3", 1.5)
        self.against_best("w8a_made", "W8a in the order made", 3, is_jdk, "the JDK")
        self.against_best("w8a_shuffled", "W8a shuffled", 3, is_jdk, "the JDK")
        self.timer_growth()
        self.at_most_best("w8b", 0, "W8b p50")
        self.at_most_best("w8b", 1, "W8b p99")
        self.every_run()
        self.at_most_best("w8c", 1, "W8c CPU", 0.7)
        return self.lines


def print_goals(played, results):
    lines = Goals(played, results).look()
    if lines:
        print("\nGoals (ratios of medians of this run)")
    for reached, text in lines:
        print(f"  {'pass' if reached else 'FAIL'}  {text}")
    print()
