// SPDX-License-Identifier: Apache-2.0
// The configuration history with its diffs, and the alarms.

import * as api from './api.js';
import { h, patch } from './dom.js';
import { clock } from './format.js';
import { poolLink } from './overview.js';

/** field: old → new, in words for those who do not see the strike; and what did not come true. */
export function diff({ changes, not_applied = [], warnings = [] }) {
  const shown = (text) => (text === '' ? '–' : text);
  return [
    h('ul.diff', changes.map(({ field, before, after }) => h('li', h('code', field), ': ',
      h('del', { 'aria-label': 'from ' + before }, shown(before)), ' → ',
      h('ins', { 'aria-label': 'to ' + after }, shown(after))))),
    not_applied.map(({ field, wished, effective, reason }) =>
      h('p.warn', `${field} stays ${effective}, not ${wished}: ${reason}`)),
    warnings.map((text) => h('p.warn', text)),
  ];
}

/** `button(entry)` gives what stands at the right of an entry. `own` is the pool whose page this is: no link to it. */
export function historyList(entries, button = () => null, own = null) {
  if (entries.length === 0) return h('p.muted', 'Nothing was changed yet.');
  return h('ol.history', entries.map((entry) => h('li',
    h('div',
      entry.kind === 'refused' ? h('b.bad', 'refused ') : h('b', `#${entry.revision} `),
      entry.pool === own ? null : entry.pool ? h('a', { href: poolLink(entry.pool) }, entry.pool) : 'a document', ' ',
      h('span.muted', `${clock(Date.parse(entry.at) / 1000)} · ${entry.kind} by ${entry.source}`,
        entry.author && ' ' + entry.author, entry.comment && ' · ' + entry.comment),
      entry.error && h('p.bad', entry.error),
      diff(entry)),
    h('div', button(entry)))));
}

const sourceHeads = ['Source', 'State', 'In force', 'Last answer', 'Last error'];

function sourceRow(source) {
  const cell = (label, ...content) => h('td', { 'data-label': label }, ...content);
  const failing = source.state === 'failing';
  return h('tr',
    h('th', { scope: 'row' }, source.name),
    cell('State', h(failing ? 'span.bad' : 'span.ok', source.state),
      source.refused_revision && [' ', h('span.badge.bad', 'newest refused')]),
    cell('In force', source.origin === 'none' ? '–' : h('code', source.revision.slice(0, 12)),
      source.origin === 'snapshot' && ' from the snapshot'),
    cell('Last answer', source.last_success === null ? 'never' : clock(source.last_success)),
    cell('Last error', failing ? source.last_error : '–'));
}

/** Where the configuration comes from, and what became of it; nothing if the process does not say. */
function sourcesCard(config) {
  if (!config.managed) return [];
  const told = (name, lines) => lines.length > 0 && [h('h3', name), h('ul', lines.map((line) => h('li', line)))];
  return h('section.card', { 'aria-label': 'Where the configuration comes from' },
    h('h2', 'Sources'),
    h('div.scroll', h('table.stack#sources',
      h('thead', h('tr', sourceHeads.map((text) => h('th', { scope: 'col' }, text)))),
      h('tbody', config.sources.map(sourceRow)))),
    config.problems.length > 0 && [h('h3', 'Refused'), config.problems.map(({ text }) => h('p.bad', text))],
    told('Not applied', config.not_applied.map((n) =>
      `${n.pool}: ${n.field} stays ${n.effective}, not ${n.wished}: ${n.reason}`)),
    told('In the documents, and not registered', config.unmatched),
    told('Registered, and in no document', config.orphans),
    told('Ignored', config.ignored.map(({ text }) => text)),
    config.snapshot_error && h('p.warn', 'Snapshot: ' + config.snapshot_error));
}

export class History {
  async update({ into }) {
    const [{ history }, config] = await Promise.all([api.history(), api.config()]);
    patch(into, h('h1', 'Configuration history'), sourcesCard(config),
      h('section.card', { 'aria-label': 'Changes, latest first' }, historyList(history)));
  }
  close() {}
}

/** `own` is the pool whose page this is, which need not be named. */
export function alarmTable(alarms, own = null) {
  const heads = ['Alarm', own === null && 'Pool', 'State', 'Since', 'Until', 'What'].filter(Boolean);
  return h('div.scroll', h('table.stack',
    h('thead', h('tr', heads.map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', alarms.map((alarm) => h('tr',
      h('th', { scope: 'row' }, alarm.type),
      own === null && h('td', { 'data-label': 'Pool' }, alarm.pool ? h('a', { href: poolLink(alarm.pool) }, alarm.pool) : '–'),
      h('td', { 'data-label': 'State' }, h(alarm.firing ? 'span.bad' : 'span.ok', alarm.firing ? 'firing' : 'recovered')),
      h('td', { 'data-label': 'Since' }, clock(alarm.since)),
      h('td', { 'data-label': 'Until' }, clock(alarm.until)),
      h('td', { 'data-label': 'What' }, alarm.message, alarm.task && [', task ', h('code', alarm.task)]))))));
}

export class Alarms {
  async update({ into }) {
    const { alarms } = await api.alarms();
    patch(into, h('h1', 'Alarms'), h('section.card', { 'aria-label': 'What fires, then what is over, latest first' },
      alarms.length ? alarmTable(alarms) : h('p.muted', 'No alarm so far.')));
  }
  close() {}
}
