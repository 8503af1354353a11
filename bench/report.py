# SPDX-License-Identifier: Apache-2.0
"""Tables of medians and spreads, and results as text."""

import json
import statistics

import cases
from cases import MORE, is_ours

RAW_LIMITS = "raw"  # peers named so are what the machine allows, no pools to compare with


def is_pool(peer):
    return not peer.startswith(RAW_LIMITS)


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


def compact_json(value, indent=""):
    """Indented, but whatever holds nothing but numbers, words and lists of them is one line."""

    def is_flat(v):
        return not isinstance(v, (dict, list))

    def is_short(v):
        return is_flat(v) or (isinstance(v, list) and all(map(is_flat, v)))

    values = value.values() if isinstance(value, dict) else value
    if is_short(value) or (isinstance(value, dict) and all(map(is_short, values))):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    deeper = indent + " "
    if isinstance(value, dict):
        lines = [f"{json.dumps(k)}: {compact_json(v, deeper)}" for k, v in sorted(value.items())]
    else:
        lines = [compact_json(v, deeper) for v in value]
    brackets = "{}" if isinstance(value, dict) else "[]"
    body = ",\n".join(deeper + line for line in lines)
    return f"{brackets[0]}\n{body}\n{indent}{brackets[1]}"


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
    print(" " * 24 + "".join(f"{title:<30}" for title in titles).rstrip())
    first = case.measures[0]
    order = sorted(middle[0], key=middle[0].get, reverse=first.better == MORE)
    for peer in order:
        cells = []
        for column in columns:
            median, low, high = spread(column[peer])
            cells.append(f"{shown(median):<8}[{shown(low)} – {shown(high)}]")
        print(f"  {peer:<22}" + "".join(f"{cell:<30}" for cell in cells).rstrip())
    for ours in filter(is_ours, order):
        cells = []
        for measure, values in zip(case.measures, middle):
            best = best_other(values, measure.better)
            cells.append(f"{ratio(values[ours], best[1])} {best[0]}" if best else "")
        if any(cells):
            print(f"  {ours + ' is':<22}" + "".join(f"{cell:<30}" for cell in cells).rstrip())


def ratio(ours, other):
    return f"{ours / other:.2f} ×" if other else "– ×"
