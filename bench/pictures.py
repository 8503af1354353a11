# SPDX-License-Identifier: Apache-2.0
"""Pictures of the results, as SVG: bars by peer, curves of growth and of lateness."""

import html
import math
import statistics

import cases
import report

WIDTH = 760
# The same peer has the same colour in every picture; those without one share SPARE.
COLOURS = {
    "cadre": "#2d8a55",
    "cadre_array": "#57b381",
    "jdk": "#c2571a",
    "jdk_array": "#d98b4f",
    "jdk_fork_join": "#b08d2f",
    "asio": "#2f6db5",
    "tbb": "#8a5fb0",
    "plain": "#7d8793",
}
SPARE = ["#3a9aa8", "#a8476b", "#6f8f3a", "#57606e"]
STYLE = """\
    text { font: 14px system-ui, "DejaVu Sans", Verdana, sans-serif; fill: #57606e }
    .title { font-size: 16px; font-weight: bold }
    .note { fill: #7d8793; font-size: 12px }
    .end { text-anchor: end }
    .middle { text-anchor: middle }
    .grid { stroke: #8892a0; stroke-opacity: 0.3 }
    .range { stroke: #57606e; stroke-width: 1.5; stroke-opacity: 0.7 }
    .curve { fill: none; stroke-width: 2.5; stroke-linejoin: round }"""


def colours(peers):
    others = [peer for peer in peers if peer not in COLOURS]
    return COLOURS | {peer: SPARE[i % len(SPARE)] for i, peer in enumerate(others)}


def text(x, y, what, kind=""):
    attribute = f' class="{kind}"' if kind else ""
    return f'  <text{attribute} x="{x:.1f}" y="{y:.1f}">{html.escape(what)}</text>'


def line(x1, y1, x2, y2, kind="grid"):
    return f'  <line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def document(title, height, body, note):
    body = [text(16, 28, title, "title"), *body, text(16, height - 12, note, "note")]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'width="{WIDTH}" height="{height:.0f}" role="img" aria-labelledby="title">',
            f'  <title id="title">{html.escape(title)}</title>',
            f"  <style>\n{STYLE}\n  </style>",
            *body,
            "</svg>\n",
        ]
    )


def note_of(results, case):
    stored = results["cases"][case.name]
    machine = stored["machine"]
    return (
        f"{stored['date'][:10]}, {machine['processors']} × {machine['processor']}, "
        f"{machine['system'].split(',')[0]}"
    )


def bars(title, case_measures, results, palette):
    """A group of bars for each (subtitle, case, measure); the longest of a group is full width."""
    left, right, row = 150, WIDTH - 110, 24
    y = 44
    body = []
    for subtitle, case, measure in case_measures:
        figures = cases.figures(results, case, measure)
        spreads = {peer: report.spread(values) for peer, values in figures.items()}
        most = max(high for _, _, high in spreads.values()) or 1
        scale = (right - left) / most
        sign = "longer is better" if measure.better == cases.MORE else "shorter is better"
        body.append(text(16, y + 16, ", ".join(filter(None, [subtitle, measure.unit, sign]))))
        y += 24
        order = sorted(
            spreads, key=lambda p: spreads[p][0], reverse=measure.better == cases.MORE
        )
        for peer in order:
            median, low, high = spreads[peer]
            body.append(text(left - 10, y + 17, peer, "end"))
            body.append(
                f'  <rect x="{left}" y="{y + 3}" width="{max(1, median * scale):.1f}" '
                f'height="{row - 6}" rx="3" fill="{palette[peer]}"/>'
            )
            body.append(line(left + low * scale, y + 12, left + high * scale, y + 12, "range"))
            body.append(text(left + high * scale + 8, y + 17, report.shown(median)))
            y += row
        y += 12
    note = note_of(results, case_measures[0][1]) + "; medians, the thin line is the middle half"
    return document(title, y + 28, body, note)


class Axes:
    """A field for curves: x logarithmic, y as told."""

    top, bottom, left, right = 60, 330, 70, WIDTH - 130

    def __init__(self, x_range, y_range, y_log=False):
        self.x_range, self.y_range, self.y_log = x_range, y_range, y_log
        self.body = []

    def x(self, value):
        low, high = map(math.log10, self.x_range)
        share = (math.log10(max(value, self.x_range[0])) - low) / (high - low)
        return self.left + min(1, share) * (self.right - self.left)

    def y(self, value):
        low, high = self.y_range
        if self.y_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)

    def x_ticks(self, values, name):
        for value in values:
            self.body.append(line(self.x(value), self.top, self.x(value), self.bottom))
            self.body.append(text(self.x(value), self.bottom + 20, f"{value:,}", "middle"))
        middle = (self.left + self.right) / 2
        self.body.append(text(middle, self.bottom + 42, name, "middle"))

    def y_ticks(self, values, name):
        for value in values:
            self.body.append(line(self.left, self.y(value), self.right, self.y(value)))
            self.body.append(text(self.left - 8, self.y(value) + 5, f"{value:,}", "end"))
        self.body.append(text(16, self.top - 12, name))

    def curve(self, points, colour):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.body.append(f'  <polyline class="curve" stroke="{colour}" points="{path}"/>')

    def legend(self, peers, palette):
        for i, peer in enumerate(peers):
            y = self.top + 10 + i * 22
            self.body.append(line(self.right + 14, y, self.right + 34, y, "curve"))
            self.body[-1] = self.body[-1].replace("/>", f' stroke="{palette[peer]}"/>')
            self.body.append(text(self.right + 40, y + 5, peer))


def steps(low, high):
    """1, 2, 5, 10, … around a range."""
    found = [base * 10**power for power in range(0, 8) for base in (1, 2, 5)]
    first = max([v for v in found if v <= low], default=found[0])
    last = min([v for v in found if v >= high], default=found[-1])
    return [v for v in found if first <= v <= last]


def growth(title, x_name, points, results, palette):
    sizes = [case.growth for case in points]
    by_case = [cases.medians(results, case, case.measures[1]) for case in points]
    peers = [peer for peer in by_case[0] if all(peer in values for values in by_case)]
    everything = [values[peer] for values in by_case for peer in peers]
    y_values = steps(min(everything), max(everything))
    axes = Axes((sizes[0], sizes[-1]), (y_values[0], y_values[-1]), y_log=True)
    axes.x_ticks(sizes, x_name)
    axes.y_ticks(y_values, points[0].measures[1].unit)
    for peer in peers:
        axes.curve([(s, values[peer]) for s, values in zip(sizes, by_case)], palette[peer])
    axes.legend(sorted(peers, key=lambda p: -by_case[-1][p]), palette)
    return document(title, 410, axes.body, note_of(results, points[0]) + "; medians")


def distribution(case, results, palette):
    """What share of the timers was at most so late, by peer: the median over the rounds."""
    curves = {}
    for peer, answers in results["cases"][case.name]["peers"].items():
        rounds = [answer["late_us_percentiles"] for answer in answers]
        curves[peer] = [statistics.median(column) for column in zip(*rounds)]
    x_values = steps(
        max(1, min(min(c) for c in curves.values())), max(max(c) for c in curves.values())
    )
    axes = Axes((x_values[0], x_values[-1]), (0, 100))
    axes.x_ticks(x_values, "µs late, at most (further left is better)")
    axes.y_ticks(range(0, 101, 25), "% of the timers")
    for peer, curve in curves.items():
        axes.curve([(late, percent) for percent, late in enumerate(curve)], palette[peer])
    axes.legend(sorted(curves, key=lambda p: curves[p][50]), palette)
    return document(case.title, 410, axes.body, note_of(results, case) + "; medians of the rounds")


def draw(played, results, directory):
    """Draws what there is to draw of the cases played; yields the files."""
    names = {p for case in played for p in results["cases"][case.name]["peers"]}
    palette = colours(sorted(names))
    by_name = {case.name: case for case in played}

    def group(*wanted):
        found = [by_name[name] for name in wanted if name in by_name]
        return [(case.title, case, case.measures[0]) for case in found]

    made = {}
    tasks = group("w1_2_workers", "w1_1_worker", "w2", "w3")
    if tasks:
        made["throughput"] = bars("Tasks a second", tasks, results, palette)
    churn = group("w8a_made", "w8a_shuffled")
    if churn:
        made["timers"] = bars("Timers: insert and cancel", churn, results, palette)
    points = [case for case in played if case.growth]
    if len(points) > 1:
        title = "Timers: cost of insert and cancel as their number grows"
        made["timer_growth"] = growth(title, "pending timers", points, results, palette)
    if "w8b" in by_name:
        made["timer_lateness"] = distribution(by_name["w8b"], results, palette)
    if "w8c" in by_name:
        case = by_name["w8c"]
        cpu = [("CPU time used", case, case.measures[1])]
        made["timer_periodic"] = bars(case.title, cpu, results, palette)
    for name, picture in made.items():
        path = directory / f"bench_{name}.svg"
        path.write_text(picture)
        yield path
