// SPDX-License-Identifier: Apache-2.0
// The page of one pool: what it is doing, what it did, and, with the token, what it should be.

import { adviceCard } from './advice.js';
import * as api from './api.js';
import { Chart } from './charts.js';
import { h, kept, patch } from './dom.js';
import { count, rate, seconds } from './format.js';
import { alarmTable, historyList } from './history.js';
import { SettingsForm, rollbackButton } from './settings.js';

const tile = (label, value, name = '') => h('div.tile', h('b' + name, value), h('span', label));

const taskColumns = [
  ['name', 'Task', (t) => t.name],
  ['count', 'Count', (t) => t.run.count],
  ['failed', 'Failed', (t) => t.failed],
  ['w50', 'Wait p50', (t) => t.wait.p50], ['w99', 'Wait p99', (t) => t.wait.p99],
  ['r50', 'Run p50', (t) => t.run.p50], ['r90', 'Run p90', (t) => t.run.p90],
  ['r99', 'Run p99', (t) => t.run.p99], ['rmax', 'Run max', (t) => t.run.max],
];

export class PoolPage {
  sort = 'r99';
  charts = [];

  constructor(name) {
    this.name = name;
    const line = (label, colour, measure, more) => ({ label, colour, values: (s) => s.column(name, measure), ...more });
    this.charts = [
      new Chart({ id: 'p-threads', title: 'Threads', format: count, atLeast: 2, lines: [
        line('busy', 's0', 'active'), line('threads', 's2', 'threads'),
        line('core', 's3', 'core', { dashed: true }), line('maximum', 's1', 'maximum', { dashed: true })] }),
      new Chart({ id: 'p-queue', title: 'Queued tasks', format: count, atLeast: 5, lines: [
        line('queued', 's0', 'queue'), line('capacity', 's1', 'capacity', { dashed: true })] }),
      new Chart({ id: 'p-rates', title: 'Tasks a second', format: rate, atLeast: 5, lines: [
        line('submitted', 's2', 'submitted'), line('done', 's0', 'completed'), line('rejected', 's1', 'rejected')] }),
      new Chart({ id: 'p-wait', title: 'Wait in the queue', format: seconds, lines: [
        line('p50', 's0', 'wait_p50'), line('p99', 's1', 'wait_p99')] }),
      new Chart({ id: 'p-run', title: 'Run time', format: seconds, lines: [
        line('p50', 's0', 'run_p50'), line('p99', 's1', 'run_p99')] }),
    ];
    this.form = new SettingsForm(name);
  }

  async update({ samples, into, writable, unlock, refresh }) {
    const [pool, { advice }] = await Promise.all([api.poolDetail(this.name), api.advice()]);
    this.last = { pool, into };
    for (const chart of this.charts) chart.update(samples);
    this.form.update(pool, { writable, unlock, refresh });
    const unlocked = writable && api.token.get();
    patch(into,
      h('h1', pool.name, ' ', h(pool.state === 'running' ? 'span.badge.ok' : 'span.badge.warn', pool.state), ' ',
        h('span.muted.small', `revision ${pool.revision}`)),
      h('div.tiles',
        tile(`busy of ${pool.threads} threads`, pool.active),
        tile(pool.thread_limit > pool.core_pool_size ? `threads, of ${pool.core_pool_size} to ${pool.thread_limit}` : `threads, of ${pool.core_pool_size}`, pool.threads, '#threads'),
        tile('queued' + (pool.queue_capacity === null ? ', unbounded' : ' of ' + count(pool.queue_capacity)), count(pool.queue_size)),
        tile('oldest waits', seconds(pool.oldest_age)),
        tile('done a second', rate(pool.completed_rate)),
        tile('rejected', count(pool.rejected), pool.rejected_rate > 0 ? '.bad' : '')),
      h('div',  // always there, so that the form below stays where it is
        pool.alarm_list.length > 0 && h('section.card', h('h2', 'Alarms'), alarmTable(pool.alarm_list.slice(0, 5), this.name)),
        adviceCard(advice.filter((a) => a.pool === this.name), (a) => unlocked && a.settings &&
          h('button', { type: 'button', onclick: () => this.form.enter(a.settings) }, 'Enter this below'))),
      h('div.two', kept(this.form.node), this.workers(pool)),
      h('div.grid', this.charts.map((c) => kept(c.node))),
      this.taskTable(pool),
      this.totals(pool),
      h('div.two',
        h('section.card', h('h2', 'Waiting longest'), pool.oldest.length === 0
          ? h('p.muted', 'The queue is empty.')
          : h('table', h('thead', h('tr', h('th', { scope: 'col' }, 'Task'), h('th.n', { scope: 'col' }, 'Waits'))),
            h('tbody', pool.oldest.map((t) => h('tr', h('td', t.name), h('td.n', seconds(t.age))))))),
        h('section.card', h('h2', 'Configuration history'),
          historyList(pool.history, (entry) => unlocked && rollbackButton(this.name, entry, pool.revision, refresh), this.name))));
  }

  workers(pool) {
    return h('section.card', h('h2', `Workers: ${pool.active} of ${pool.workers.length} busy`),
      pool.workers.length === 0 ? h('p.muted', 'No thread at the moment.')
        : h('div.scroll', h('table#workers',
          h('thead', h('tr', h('th', { scope: 'col' }, 'Thread'), h('th', { scope: 'col' }, 'Task'), h('th.n', { scope: 'col' }, 'For'))),
          h('tbody', pool.workers.map((w) => h('tr', h('td', w.thread),
            w.task === null ? h('td.muted', 'idle') : h('td', w.task),
            h('td.n', w.task === null ? '' : seconds(w.age))))))));
  }

  totals(pool) {
    const rows = [['Submitted', pool.submitted], ['Completed', pool.completed], ['Failed', pool.failed, true],
      ['Rejected', pool.rejected, true], ['Ran too long', pool.run_timeouts, true], ['Waited too long', pool.queue_timeouts, true],
      ['Threads started', pool.threads_started], ['Threads ended', pool.threads_ended],
      ['Threads not made', pool.threads_failed, true]];
    return h('section.card', h('h2', 'Since the pool was made'),
      h('div.tiles#totals', rows.map(([label, value, isTrouble]) => tile(label, count(value), isTrouble && value > 0 ? '.bad' : ''))));
  }

  taskTable(pool) {
    const value = taskColumns.find(([id]) => id === this.sort)[2];
    const order = (a, b) => (this.sort === 'name' ? value(a).localeCompare(value(b)) : (value(b) ?? -1) - (value(a) ?? -1));
    const heads = taskColumns.map(([id, text]) => h(id === 'name' ? 'th' : 'th.n',
      { scope: 'col', 'aria-sort': id === this.sort ? (id === 'name' ? 'ascending' : 'descending') : 'none' },
      h('button', { type: 'button', onclick: () => this.sortBy(id) }, text, id === this.sort ? ' ▾' : '')));
    return h('section.card', h('h2', 'Tasks by name'), pool.tasks.length === 0 ? h('p.muted', 'No task has run yet.')
      : h('div.scroll', h('table.stack', h('thead', h('tr', heads)),
        h('tbody', [...pool.tasks].sort(order).map((t) => h('tr', taskColumns.map(([id, text, of]) =>
          id === 'name' ? h('th', { scope: 'row' }, t.name)
            : h(id === 'failed' && t.failed > 0 ? 'td.n.bad' : 'td.n', { 'data-label': text },
              id === 'count' || id === 'failed' ? count(of(t)) : seconds(of(t))))))))));
  }

  sortBy(id) {
    this.sort = id;
    const table = [...this.last.into.querySelectorAll('section')].find((s) => s.querySelector('th[aria-sort]'));
    if (table) patch(table, [...this.taskTable(this.last.pool).childNodes]);
  }

  close() {
    for (const chart of this.charts) chart.close();
  }
}
