# SPDX-License-Identifier: Apache-2.0
"""Pictures of the results, as SVG: bars by peer, curves of growth and of lateness."""

import collections
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
    "cadre_stealing": "#1f9e9e",
    "eigen": "#a8476b",
    "moodycamel": "#6f8f3a",
    "raw_moodycamel_bulk": "#9aa83a",
    "std_async": "#8b6f5c",
    "raw": "#66788f",
}
SPARE = ["#d0549b", "#4f8fd9", "#b5651d", "#5c6bc0"]
STYLE = """\
    text { font: 14px system-ui, "DejaVu Sans", Verdana, sans-serif; fill: #5d6775 }
    .title { font-size: 16px; font-weight: bold }
    .note { fill: #7d8793; font-size: 12px }
    .end { text-anchor: end }
    .middle { text-anchor: middle }
    .grid { stroke: #8892a0; stroke-opacity: 0.3 }
    .range { stroke: #57606e; stroke-width: 1.5; stroke-opacity: 0.7 }
    .curve { fill: none; stroke-width: 2.5; stroke-linejoin: round }
    @media (prefers-color-scheme: dark) {
        text { fill: #c3ccd8 }
        .note { fill: #98a3b3 }
        .range { stroke: #e3e9f1 }
    }"""


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


def note_of(results, shown):
    """When and where it was measured: all of it, for what was not played again keeps its figures."""
    stored = [results["cases"][case.name] for case in shown]
    dates = sorted({one["date"][:10] for one in stored})
    machines = [
        f"{one['processors']} × {one['processor']}, {one['system'].split(',')[0]}"
        for one in (case["machine"] for case in stored)
    ]
    return ", ".join([" and ".join(dates), " and ".join(dict.fromkeys(machines))])


def bars(title, case_measures, results, palette):
    """A group of bars for each (subtitle, case, measure); the longest of a group is full width."""
    left, right, row = 180, WIDTH - 110, 24
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
    note = note_of(results, [case for _, case, _ in case_measures])
    note += "; medians, the thin line is the middle half"
    return document(title, y + 28, body, note)


class Axes:
    """A field for curves: x logarithmic, y as told."""

    top, bottom, left, right = 60, 330, 70, WIDTH - 215

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
    """1, 2, 5, 10, … around a range; at least two of them."""
    found = [base * 10**power for power in range(0, 8) for base in (1, 2, 5)]
    first = max([i for i, v in enumerate(found) if v <= low], default=0)
    last = min([i for i, v in enumerate(found) if v >= high], default=len(found) - 1)
    return found[first : max(last, first + 1) + 1]


def growth(title, x_name, points, results, palette):
    """The last measure of each point, for the peers that played them all or nearly all; nothing if
    there is none."""
    measure = points[0].measures[-1]
    by_size = {case.size: cases.medians(results, case, measure) for case in points}
    curves = collections.defaultdict(list)
    for size in sorted(by_size):
        for peer, value in by_size[size].items():
            curves[peer].append((size, value))
    curves = {peer: curve for peer, curve in curves.items() if len(curve) >= len(points) - 1}
    if not curves:
        return None
    y_values = steps(
        min(y for curve in curves.values() for _, y in curve),
        max(y for curve in curves.values() for _, y in curve),
    )
    axes = Axes((min(by_size), max(by_size)), (y_values[0], y_values[-1]), y_log=True)
    axes.x_ticks(sorted(by_size), x_name)
    axes.y_ticks(y_values, measure.unit)
    for peer, curve in curves.items():
        axes.curve(curve, palette[peer])
    axes.legend(sorted(curves, key=lambda p: -curves[p][-1][1]), palette)
    return document(title, 410, axes.body, note_of(results, points) + "; medians")


def distribution(case, field, x_name, y_name, results, palette):
    """What share took at most so long, by peer: the median over the rounds."""
    curves = {}
    for peer, answers in results["cases"][case.name]["peers"].items():
        rounds = [answer[field] for answer in answers]
        curves[peer] = [statistics.median(column) for column in zip(*rounds)]
    # The worst one in a hundred would squeeze all others together.
    x_values = steps(
        max(1, min(c[0] for c in curves.values())), max(c[99] for c in curves.values())
    )
    axes = Axes((x_values[0], x_values[-1]), (0, 100))
    axes.x_ticks(x_values, x_name)
    axes.y_ticks(range(0, 101, 25), y_name)
    for peer, curve in curves.items():
        axes.curve([(late, percent) for percent, late in enumerate(curve[:100])], palette[peer])
    axes.legend(sorted(curves, key=lambda p: curves[p][50]), palette)
    return document(case.title, 410, axes.body, note_of(results, [case]) + "; medians of the rounds")


BARS = {
    "throughput": ("Tasks a second", 0, ["w1_2_workers", "w1_1_worker", "w2", "w3", "w4"]),
    "work": ("Tasks of 1 µs, and a bounded queue", 0, ["w6", "w7_caller_runs", "w7_put"]),
    "wake_up_cpu": ("Processor time of a wake-up", 2, ["w5_start", "w5_round_trip"]),
    "memory": ("What tasks and pools take", 0, ["w9_empty", "w9_48_bytes", "w9_idle", "w10"]),
    "timers": ("Timers: insert and cancel", 0, ["w8a_made", "w8a_shuffled"]),
    "timer_periodic": ("Periodic tasks: processor time", 1, ["w8c"]),
}
GROWTHS = {
    "queued": ("Cost of a task as the queue grows", "queued tasks"),
    "workers": ("Cost of a task as the workers grow in number", "workers"),
    "timers": ("Timers: cost of insert and cancel as their number grows", "pending timers"),
}
DISTRIBUTIONS = {
    "w5_start": ("start", "us_percentiles", "µs from execute to start", "% of the tasks"),
    "w5_round_trip": ("round_trip", "us_percentiles", "µs for submit and get", "% of the tasks"),
    "w8b": ("timer_lateness", "late_us_percentiles", "µs late", "% of the timers"),
}


def draw(played, results, directory):
    """Draws the pictures that show one of these cases, with what earlier runs had of the others;
    yields the files."""
    now = {case.name for case in played}
    by_name = {case.name: case for case in cases.CASES if case.name in results["cases"]}
    palette = colours(sorted({p for name in by_name for p in results["cases"][name]["peers"]}))
    made = {}
    for name, (title, measure, wanted) in BARS.items():
        found = [by_name[one] for one in wanted if one in by_name]
        if now & set(wanted):
            groups = [(case.title, case, case.measures[measure]) for case in found]
            made[name] = bars(title, groups, results, palette)
    for name, (title, x_name) in GROWTHS.items():
        points = [case for case in by_name.values() if case.growth == name]
        if len(points) > 2 and now & {case.name for case in points}:
            made[f"growth_{name}"] = growth(title, x_name, points, results, palette)
    for case, (name, field, x_name, y_name) in DISTRIBUTIONS.items():
        if case in now:
            x_name += ", at most (further left is better)"
            found = by_name[case]
            made[name] = distribution(found, field, x_name, y_name, results, palette)
    for name, picture in made.items():
        if not picture:
            continue
        path = directory / f"bench_{name}.svg"
        path.write_text(picture)
        yield path
