// SPDX-License-Identifier: Apache-2.0
// Changing a pool: edit, see what would change, apply; and going back to an earlier revision.
// The process judges what is entered; this page only shows its answer.

import * as api from './api.js';
import { h, patch } from './dom.js';
import { setting } from './format.js';
import { diff } from './history.js';

// What a field is, by its key; the process says which of them a pool has.
const kinds = {
  core_pool_size: ['Core threads', 'number'],
  maximum_pool_size: ['Maximum threads', 'number'],
  queue_capacity: ['Queue capacity', 'number'],
  keep_alive: ['Keep-alive', 'duration'],
  allow_core_thread_time_out: ['Core threads time out', 'flag'],
  rejection: ['When full', 'policy'],
  thread_name_prefix: ['Thread name prefix', 'text'],
  prestart_core_threads: ['Start all core threads', 'flag'],
  run_timeout: ['Run time limit', 'limit'],
  queue_timeout: ['Wait limit', 'limit'],
  interrupt_on_run_timeout: ['Interrupt at the run time limit', 'flag'],
};
/** A value as people read it. */
function shown(key, value) {
  const kind = kinds[key]?.[1];
  if (kind === 'flag') return value ? 'yes' : 'no';
  return kind === 'limit' && value === '0s' ? 'none' : setting(value);
}

const policies = ['abort', 'caller_runs', 'discard', 'discard_oldest', 'block'];

function field(key, value) {
  const [label, kind] = kinds[key] ?? [key, 'text'];
  const choices = kind === 'flag' ? ['true', 'false'] : kind === 'policy' ? [...new Set([...policies, value])] : null;
  const now = value === null ? '' : String(value);
  const input = choices
    ? h('select', { name: key }, choices.map((c) => h('option', { value: c, selected: c === now }, kind === 'flag' ? (c === 'true' ? 'yes' : 'no') : c)))
    : h('input', { name: key, value: now, inputmode: kind === 'number' ? 'numeric' : 'text', autocomplete: 'off',
      placeholder: { duration: '60s, 500ms, 1h30m', limit: '60s; 0s: none' }[kind] ?? '' });
  return h('label', label, input);
}

const parsed = (key, text) => {
  const kind = kinds[key]?.[1];
  if (kind === 'flag') return text === 'true';
  return kind === 'number' && /^-?\d+$/.test(text.trim()) ? Number(text) : text.trim();
};

export class SettingsForm {
  node = h('section.card', { 'data-keep': 'settings' });

  constructor(pool) {
    this.pool = pool;
  }

  /** While something is being edited, only the state of the buttons follows. */
  update(pool, { writable, unlock, refresh }) {
    this.refresh = refresh;
    const unlocked = Boolean(writable && api.token.get());
    const seen = JSON.stringify([pool.settings, unlocked, writable]);
    if (seen === this.seen || (this.editing() && unlocked)) return;
    this.seen = seen;
    this.settings = pool.settings;
    this.shown = null;
    const hadFocus = this.node.contains(document.activeElement);
    if (unlocked) return hadFocus ? this.reset() : this.draw();
    patch(this.node, h('h2', 'Settings'),
      h('table', h('tbody', Object.entries(pool.settings).map(([key, value]) =>
        h('tr', h('td.muted', kinds[key]?.[0] ?? key), h('td.n', shown(key, value)))))),
      h('div.buttons', writable ? h('button', { type: 'button', onclick: unlock }, 'Unlock changes')
        : h('span.muted.small', 'Read only: this process was started without changes.')));
  }

  editing() {
    return this.shown || Object.keys(this.changes()).length > 0;
  }

  draw() {
    this.form = h('form', { onsubmit: (event) => this.preview(event), oninput: () => this.edited() },
      h('fieldset', Object.entries(this.settings).map(([key, value]) => field(key, value))),
      this.answer = h('div', { role: 'status', id: 'preview' }),
      h('div.buttons', h('button.primary', { type: 'submit' }, 'Preview'),
        this.applyButton = h('button', { type: 'button', id: 'apply', disabled: true, onclick: () => this.apply() }, 'Apply'),
        h('button', { type: 'button', onclick: () => this.reset() }, 'Reset')));
    this.shown = null;
    this.node.replaceChildren(h('h2', 'Settings'), this.form);
  }

  /** With the focus where it goes on: what had it is gone. */
  reset() {
    this.draw();
    this.form.querySelector('[name]')?.focus();
  }

  /** What differs from what the pool has. */
  changes() {
    const changed = {};
    for (const input of this.form?.querySelectorAll('[name]') ?? []) {
      const now = this.settings[input.name];
      if (input.value !== (now === null ? '' : String(now))) changed[input.name] = parsed(input.name, input.value);
    }
    return changed;
  }

  /** Puts values into the fields, as somebody would who types them. */
  enter(settings) {
    for (const [key, value] of Object.entries(settings)) {
      const input = this.form?.querySelector(`[name=${key}]`);
      if (input) input.value = String(value);
    }
    this.edited();
    this.form?.querySelector('[type=submit]').focus();
  }

  edited() {
    this.shown = null;
    this.applyButton.disabled = true;
    patch(this.answer);
  }

  async preview(event) {
    event.preventDefault();
    const changes = this.changes();
    if (Object.keys(changes).length === 0) return patch(this.answer, h('p.muted', 'Nothing is changed.'));
    await this.ask(async () => {
      const answer = await api.preview(this.pool, changes);
      this.shown = changes;
      this.revision = answer.revision;
      patch(this.answer, h('h2', answer.changes.length ? 'This will change' : 'Nothing will change'), diff(answer));
      this.applyButton.disabled = answer.changes.length === 0;
      this.applyButton.focus();
    });
  }

  async apply() {
    await this.ask(async () => {
      const answer = await api.apply(this.pool, this.shown, this.revision);
      this.settings = answer.after;
      this.seen = JSON.stringify([answer.after, true, true]);
      this.reset();
      patch(this.answer, h('p.ok', `Applied as revision ${answer.revision}.`), diff(answer));
      await this.refresh();
    });
  }

  async ask(call) {
    this.applyButton.disabled = true;
    try {
      await call();
    } catch (problem) {
      this.shown = null;
      patch(this.answer, h('p.error', { role: 'alert' }, problem.message));
    }
  }
}

/** Two steps: what going back would change, then doing it. */
export function rollbackButton(pool, entry, current, refresh) {
  const place = h('div', { 'data-keep': `rollback-${entry.revision}-${current}` });
  const say = (problem) => place.replaceChildren(h('p.error', { role: 'alert' }, problem.message));
  const done = async (looked) => {
    try {
      await api.rollback(pool, entry.revision, looked);
      await refresh();
      if (!place.isConnected) document.getElementById('main').focus({ preventScroll: true });
    } catch (problem) {
      say(problem);
    }
  };
  const look = async () => {
    try {
      const answer = await api.previewRollback(pool, entry.revision);
      const confirm = h('button.primary', { type: 'button', onclick: () => done(answer.revision) }, 'Roll back');
      place.replaceChildren(...(answer.changes.length
        ? [...diff(answer).flat(), confirm] : [h('p.muted', 'Nothing would change.')]));
      confirm.focus();
    } catch (problem) {
      say(problem);
    }
  };
  if (entry.revision && entry.revision !== current)
    place.append(h('button', { type: 'button', onclick: look, 'aria-label': `Back to revision ${entry.revision}` }, 'Back to this…'));
  return place;
}
