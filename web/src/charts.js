// SPDX-License-Identifier: Apache-2.0
// The last hour, drawn by uPlot. The samples are kept here, in columns, as the process sends them.

import uPlot from 'uplot';
import { h, patch } from './dom.js';
import { clock } from './format.js';

const hour = 3600;

/** The samples of the last hour: times, and for each pool a column for each measure. */
export class Samples {
  times = [];
  pools = new Map();  // by name, which may be any

  get last() {
    return this.times.at(-1);
  }

  /** Adds what came since the last one, and forgets what is older than an hour. */
  add({ times, pools }) {
    const before = this.times.length;
    const fresh = times.findIndex((t) => !(t <= this.last));
    if (fresh < 0) return;
    this.times.push(...times.slice(fresh));
    for (const name of new Set([...this.pools.keys(), ...Object.keys(pools)])) {
      if (!this.pools.has(name)) this.pools.set(name, {});
      const mine = this.pools.get(name);
      const theirs = Object.hasOwn(pools, name) ? pools[name] : {};
      for (const measure of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
        mine[measure] ??= new Array(before).fill(null);
        const more = (theirs[measure] ?? new Array(times.length).fill(null)).slice(fresh);
        mine[measure].push(...more);
      }
    }
    const old = this.times.findIndex((t) => t > this.last - hour);
    if (old <= 0) return;
    this.times.splice(0, old);
    for (const pool of this.pools.values())
      for (const column of Object.values(pool)) column.splice(0, old);
  }

  column(pool, measure) {
    return this.pools.get(pool)?.[measure] ?? new Array(this.times.length).fill(null);
  }
}

const charts = new Set();

/**
 * A card with a chart. `lines` is a list of {label, colour, values(samples)}; `format` writes a
 * value, on the axis and in the legend, which also serves those who do not see the chart.
 */
export class Chart {
  constructor({ id, title, lines, format, atLeast = 0 }) {
    Object.assign(this, { lines, format, atLeast });
    this.place = h('div.chart', { 'aria-hidden': 'true' });
    this.legend = h('div.legend');
    this.node = h('section.card', { 'data-keep': id, 'aria-label': title }, h('h2', title), this.place, this.legend);
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.place);
    charts.add(this);
  }

  update(samples) {
    this.data = [samples.times, ...this.lines.map((line) => line.values(samples))];
    if (this.plot) this.plot.setData(this.data);
    else this.draw();
    const left = this.plot?.cursor.left ?? -1;
    this.showLegend(left < 0 ? null : this.plot.posToIdx(left));
  }

  draw() {
    const width = this.place.clientWidth;
    if (!this.data || width === 0) return;
    const css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue(name).trim();
    const axis = {
      stroke: colour('--muted'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { stroke: colour('--line'), width: 1 },
      font: '12px system-ui, sans-serif',
    };
    const now = () => this.data[0].at(-1) ?? Date.now() / 1000;
    this.plot?.destroy();
    this.plot = new uPlot({
      width,
      height: 190,
      legend: { show: false },
      cursor: { points: { size: 6 }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => [Math.max(now() - hour, Math.min(this.data[0][0] ?? now(), now() - 60)), now()] },
        y: { range: (_, low, high) => [0, Math.max(this.atLeast, (high || 0) * 1.1) || 1] },
      },
      axes: [
        { ...axis, space: 60,
          values: (_, ticks, __, ___, step) => ticks.map((t) => timeLabel(t, step)) },
        { ...axis, size: 62, values: (_, ticks) => ticks.map(this.format) },
      ],
      series: [{}, ...this.lines.map((line) => ({
        label: line.label, stroke: colour('--' + line.colour), width: 2,
        dash: line.dashed ? [6, 5] : undefined, points: { show: false }, spanGaps: false,
      }))],
      hooks: { setCursor: [(u) => this.showLegend(u.cursor.idx)] },
    }, this.data, this.place);
  }

  /** The values under the pointer and their time, or the latest. */
  showLegend(index) {
    const at = index ?? this.data[0].length - 1;
    patch(this.legend, ...this.lines.map((line, i) => h('span',
      h('i.swatch.' + line.colour), line.label + ' ', h('b', this.format(this.data[i + 1][at])))),
    ...(index === null || index === undefined ? [] : [h('span', 'at ' + clock(this.data[0][at]))]));
  }

  resize() {
    if (!this.plot) this.draw();
    else if (this.place.clientWidth) this.plot.setSize({ width: this.place.clientWidth, height: 190 });
  }

  close() {
    this.watch.disconnect();
    this.plot?.destroy();
    this.node.remove();  // or it would keep the place of its successor
    charts.delete(this);
  }
}

function timeLabel(t, step) {
  return new Date(t * 1000).toLocaleTimeString([], {
    hour12: false, hour: '2-digit', minute: '2-digit', ...(step < 60 && { second: '2-digit' }),
  });
}

/** After the colours changed. */
export function redraw() {
  for (const chart of charts) chart.draw();
}
