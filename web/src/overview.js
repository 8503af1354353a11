// SPDX-License-Identifier: Apache-2.0
// All pools at a glance, and the last hour of each.

import { adviceCard } from './advice.js';
import * as api from './api.js';
import { Chart } from './charts.js';
import { h, kept, patch } from './dom.js';
import { bytes, count, percent, rate, seconds } from './format.js';

export const poolLink = (name) => '#/pool/' + encodeURIComponent(name);

/** A bar with its words; from 70 % it warns, from 95 % it alarms. */
export function bar(part, whole, words) {
  const share = whole > 0 ? Math.min(part / whole, 1) : 0;
  const level = share >= 0.95 ? '.full' : share >= 0.7 ? '.high' : '';
  return [words, h('span.bar' + level, { 'aria-hidden': 'true' }, h('i', { style: { width: 100 * share + '%' } }))];
}

export function queueBar(pool) {
  const words = count(pool.queue_size) + (pool.queue_capacity === null ? '' : ' / ' + count(pool.queue_capacity));
  return bar(pool.queue_size, pool.queue_capacity ?? Infinity, words);
}

function row(pool, i) {
  const cell = (label, klass, ...content) => h('td' + klass, { 'data-label': label }, ...content);
  return h('tr',
    h('th', { scope: 'row' }, h(`i.swatch.s${i % 8}`, { 'aria-hidden': 'true' }), h('a', { href: poolLink(pool.name) }, pool.name), ' ',
      pool.state !== 'running' && h('span.badge.warn', pool.state), ' ',
      pool.alarms > 0 && h('span.badge.bad', pool.alarms + (pool.alarms === 1 ? ' alarm' : ' alarms'))),
    cell('Load: busy of maximum', '', bar(pool.active, pool.thread_limit, `${pool.active} / ${pool.thread_limit}`)),
    cell('Threads', '.n', pool.threads),
    cell('Queue', '', queueBar(pool)),
    cell('Done a second', '.n', rate(pool.completed_rate)),
    cell('Rejected', '.n', h(pool.rejected_rate > 0 ? 'span.bad' : 'span', count(pool.rejected))),
    cell('Wait p50', '.n', seconds(pool.wait.p50)),
    cell('Wait p99', '.n', seconds(pool.wait.p99)),
    cell('Run p50', '.n', seconds(pool.run.p50)),
    cell('Run p99', '.n', seconds(pool.run.p99)));
}

const heads = [['Pool'], ['Load: busy / max'], ['Threads', 1], ['Queue'], ['Done/s', 1], ['Rejected', 1],
  ['Wait p50', 1], ['p99', 1], ['Run p50', 1], ['p99', 1]];

const memory = ({ resident_memory_bytes: resident, memory_limit_bytes: limit }) =>
  `Memory of the process: ${bytes(resident)}` + (limit === null ? '' : ` of ${bytes(limit)}`);

export class Overview {
  charts = [];

  async update({ pools, samples, into }) {
    if (this.names !== JSON.stringify(pools.pools.map((p) => p.name))) this.makeCharts(pools.pools);
    for (const chart of this.charts) chart.update(samples);
    const { advice } = await api.advice();
    patch(into,
      h('h1', 'Pools'),
      h('section.card', { 'aria-label': 'All pools' }, pools.pools.length === 0
        ? h('p.muted', 'No pool is registered.')
        : h('div.scroll', h('table.stack#pools',
          h('thead', h('tr', heads.map(([text, n]) => h(n ? 'th.n' : 'th', { scope: 'col' }, text)))),
          h('tbody', pools.pools.map(row)))),
        h('p.muted.small#memory', memory(pools.process))),
      h('div.grid', this.charts.map((c) => kept(c.node))),
      adviceCard(advice));
  }

  makeCharts(pools) {
    this.close();
    this.names = JSON.stringify(pools.map((p) => p.name));
    const lines = (values) => pools.map((p, i) => ({
      label: p.name, colour: 's' + (i % 8), values: (samples) => values(samples, p.name),
    }));
    const measure = (name) => lines((samples, pool) => samples.column(pool, name));
    const share = lines((samples, pool) => {
      const max = samples.column(pool, 'maximum');
      return samples.column(pool, 'active').map((active, i) => (active === null ? null : active / max[i]));
    });
    this.charts = [
      new Chart({ id: 'load', title: 'Load: busy threads of the maximum', lines: share, format: percent, atLeast: 1 }),
      new Chart({ id: 'queue', title: 'Queued tasks', lines: measure('queue'), format: count, atLeast: 5 }),
      new Chart({ id: 'done', title: 'Tasks done a second', lines: measure('completed'), format: rate, atLeast: 5 }),
      new Chart({ id: 'rejects', title: 'Rejected a second', lines: measure('rejected'), format: rate, atLeast: 1 }),
      new Chart({ id: 'wait', title: 'Wait in the queue, p99', lines: measure('wait_p99'), format: seconds }),
      new Chart({ id: 'run', title: 'Run time, p99', lines: measure('run_p99'), format: seconds }),
    ];
  }

  close() {
    for (const chart of this.charts) chart.close();
    this.charts = [];
  }
}
