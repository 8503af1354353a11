// SPDX-License-Identifier: Apache-2.0
// Which page is shown, and the loop that keeps it alive: the pools every second, the samples as
// often as the process takes them. A hidden tab asks for nothing.

import * as api from './api.js';
import { Samples, redraw } from './charts.js';
import { Alarms, History } from './history.js';
import { Overview } from './overview.js';
import { PoolPage } from './pool.js';
import { h, patch } from './dom.js';

const by = (id) => document.getElementById(id);
const main = by('main');
const samples = new Samples();
let page = null;
let pools = null;
let sampledAt = 0;

/** What cannot be decoded is the name as it stands there: no pool has it. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function route() {
  const path = location.hash.slice(1) || '/';
  if (path === 'main') return;  // the skip link
  page?.view.close();
  main.replaceChildren();
  const pool = /^\/pool\/(.+)$/.exec(path);
  page = pool ? { name: 'pools', title: decoded(pool[1]), view: new PoolPage(decoded(pool[1])) }
    : path === '/alarms' ? { name: 'alarms', title: 'Alarms', view: new Alarms() }
    : path === '/history' ? { name: 'history', title: 'History', view: new History() }
    : { name: 'pools', title: 'Pools', view: new Overview() };
  document.title = page.title + ' · cadre';
  for (const link of document.querySelectorAll('nav a'))
    if (link.dataset.page === page.name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  refresh();
}

async function refresh() {
  const shown = page;
  try {
    pools = await api.pools();
    if (Date.now() - sampledAt >= 1000 * pools.sample_interval) {
      sampledAt = Date.now();
      samples.add(await api.samples(samples.last));
    }
    if (shown !== page) return;
    frame();
    await shown.view.update({ pools, samples, into: main, writable: pools.writable, unlock: askToken, refresh });
  } catch (problem) {
    if (shown !== page) return;
    const gone = problem.status === 404;
    by('live').textContent = gone ? problem.message : 'no answer';
    by('live').classList.add('lost');
    say(by('live').textContent);
    if (gone) patch(main, h('h1', page.title), h('p', problem.message, ' ', h('a', { href: '#/' }, 'All pools')));
  }
}

/** To those who do not see the page: only what is news, so not the time of each look. */
function say(text) {
  if (by('news').textContent !== text) by('news').textContent = text;
}

function frame() {
  by('live').textContent = new Date(pools.time * 1000).toLocaleTimeString([], { hour12: false });
  by('live').classList.remove('lost');
  say('');
  const firing = pools.alarms;
  by('alarm-count').hidden = firing === 0;
  by('alarm-count').textContent = firing;
  by('unlock').hidden = !pools.writable;
  by('unlock').textContent = api.token.get() ? 'Lock' : 'Unlock changes';
}

function askToken() {
  by('token').value = '';
  by('token-error').hidden = true;
  by('token-dialog').showModal();
}

by('unlock').onclick = () => {
  if (!api.token.get()) return askToken();
  api.token.clear();
  refresh();
};
by('token-cancel').onclick = () => by('token-dialog').close();
by('token-form').onsubmit = async (event) => {
  event.preventDefault();
  api.token.set(by('token').value);
  try {
    await api.tryToken();
    by('token-dialog').close();
    await refresh();
  } catch (problem) {
    api.token.clear();
    by('token-error').textContent = problem.status === 401 ? 'This is not the token.' : problem.message;
    by('token-error').hidden = false;
  }
};

// Colours: as the system has them, until a choice is made; then light, dark and the system in turn.
const system = matchMedia('(prefers-color-scheme: dark)');
function colours() {
  const chosen = localStorage.getItem('cadre-theme');
  document.documentElement.dataset.theme = chosen ?? (system.matches ? 'dark' : 'light');
  by('theme').textContent = { dark: '☾', light: '☀' }[chosen] ?? '◐';
  by('theme').setAttribute('aria-label', 'Colours: ' + (chosen ?? 'as the system has them'));
  redraw();
}
by('theme').onclick = () => {
  const next = { dark: 'light', light: null }[localStorage.getItem('cadre-theme')];
  if (next === undefined) localStorage.setItem('cadre-theme', 'dark');
  else if (next) localStorage.setItem('cadre-theme', next);
  else localStorage.removeItem('cadre-theme');
  colours();
};
system.onchange = colours;

async function live() {
  for (;;) {
    await new Promise((done) => setTimeout(done, 1000));
    if (!document.hidden) await refresh();
  }
}

colours();
addEventListener('hashchange', () => {
  route();
  if (location.hash !== '#main') main.focus({ preventScroll: true });
});
route();
live();
