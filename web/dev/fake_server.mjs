// SPDX-License-Identifier: Apache-2.0
// Answers as docs/http-api.md says, with made-up numbers, for work on the page alone:
// `npm run build && npm run dev`, then http://127.0.0.1:7078 (the token is "secret").

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const port = Number(process.env.PORT ?? 7078);
const token = 'secret';
const started = Date.now() / 1000;
const names = ['requests', 'reports', 'scheduled jobs'];
const settings = Object.fromEntries(names.map((name, i) => [name, {
  core_pool_size: 2 + 2 * i, maximum_pool_size: 4 + 4 * i, keep_alive: '30s', allow_core_thread_time_out: false,
  queue_capacity: i === 2 ? 'unbounded' : 100, rejection: i ? 'abort' : 'caller_runs', thread_name_prefix: name + '-',
  run_timeout: '0', queue_timeout: '0', interrupt_on_run_timeout: false,
}]));
const history = [];
const revision = (name) => history.find((e) => e.pool === name)?.revision ?? 0;
const record = (name, kind, changes) => history.unshift({ revision: history.length + 1, kind, pool: name, at: new Date().toISOString(),
  source: kind === 'registered' ? 'code' : 'http', author: kind === 'registered' ? '' : '127.0.0.1', comment: '', changes, not_applied: [],
  warnings: [], error: '', settings: { ...settings[name] } });
for (const name of names) record(name, 'registered', []);
const wave = (i, t) => 0.5 + 0.5 * Math.sin(t / (40 + 30 * i) + i);
const noise = (t) => Math.abs(Math.sin(t * 12.9898) * 43758.5453) % 1;
const active = (name, t) => Math.round(wave(names.indexOf(name), t) * settings[name].maximum_pool_size);
const quantiles = (scale, t) => ({ count: Math.round(t % 1e5), mean: scale, p50: scale * (0.8 + 0.4 * noise(t)),
  p90: 3 * scale, p99: 8 * scale * (0.5 + noise(t + 1)), max: 20 * scale });

function summary(name) {
  const t = Date.now() / 1000;
  const s = settings[name];
  const i = names.indexOf(name);
  return { name, state: 'running', core_pool_size: s.core_pool_size, maximum_pool_size: s.maximum_pool_size, thread_limit: s.maximum_pool_size,
    threads: Math.max(s.core_pool_size, active(name, t)), active: active(name, t), largest: s.maximum_pool_size,
    queue_size: Math.round(100 * wave(i, t) ** 3), queue_capacity: i === 2 ? null : s.queue_capacity, oldest_age: wave(i, t) / 5,
    submitted: Math.round((t - started) * 120), completed: Math.round((t - started) * 118), failed: 3, rejected: i === 0 ? 412 : 0,
    run_timeouts: i, queue_timeouts: 7 * i, threads_started: 12 + s.maximum_pool_size, threads_ended: 12, threads_failed: 0,
    submitted_rate: 120 * wave(i, t), completed_rate: 118 * wave(i, t), rejected_rate: i === 0 && wave(i, t) > 0.9 ? 4 : 0, revision: revision(name),
    alarms: wave(i, t) > 0.95 ? 1 : 0, wait: quantiles(0.004 * (i + 1), t), run: quantiles(0.02 * (i + 1), t) };
}

const alarm = (name) => ({ type: 'liveness', pool: name, firing: true, since: Date.now() / 1000 - 12, until: null, task: '', message: '4 of 4 threads are active (threshold 80)' });
const over = { ...alarm(names[1]), firing: false, since: started - 300, until: started - 200, task: 'checkout' };
const alarms = () => [...names.filter((name) => summary(name).alarms).map(alarm), over];
const source = (name, more) => ({ name, state: 'healthy', origin: 'source', revision: '9f86d081884c7d65', refused_revision: '',
  last_success: Date.now() / 1000 - 3, silent_for: 3, failures: 0, last_error: '', documents: 2, ...more });
const config = () => ({ managed: true, applied: 2, refused: 1, last_applied: started,
  sources: [source('file:pools.yaml', { refused_revision: '60303ae22b998861' }),
    source('etcd:/pools', { state: 'failing', origin: 'snapshot', failures: 4, last_error: 'connection refused', last_success: null })],
  problems: [{ file: 'file:pools.yaml', line: 3, key: 'pools.requests.core_pol_size', rule: 'is not a key here; core_pool_size is',
    text: 'file:pools.yaml:3: pools.requests.core_pol_size: is not a key here; core_pool_size is' }],
  ignored: [], unmatched: ['mail'], orphans: [names[2]], not_applied: [], snapshot_error: '' });
const advice = () => [{ pool: names[0], message: 'core_pool_size 6, maximum_pool_size 8: 5.1 threads are busy (Little)',
  settings: { core_pool_size: 6, maximum_pool_size: 8 } }];

function detail(name) {
  const pool = summary(name);
  const kinds = ['search', 'checkout', 'thumbnail', 'report.monthly'];
  return { ...pool, settings: settings[name], alarm_list: pool.alarms ? [alarm(name)] : [],
    workers: Array.from({ length: pool.threads }, (_, n) => ({ thread: `${name}-${n + 1}`,
      task: n < pool.active ? kinds[n % 4] : null, age: n < pool.active ? 0.013 * (n + 1) : null })),
    oldest: Array.from({ length: Math.min(5, pool.queue_size) }, (_, n) => ({ name: kinds[n % 4], age: 0.4 - n * 0.05 })),
    tasks: kinds.map((kind, n) => ({ name: kind, failed: n === 2 ? 7 : 0, wait: pool.wait, run: quantiles(0.01 * (n + 1), n) })),
    history: history.filter((e) => e.pool === name) };
}

function samples(since) {
  const now = Math.floor(Date.now() / 5000) * 5;
  const times = [];
  for (let t = Math.max(now - 3600, since + 5); t <= now; t += 5) times.push(t);
  const columns = (name, i) => ({ threads: times.map((t) => Math.max(settings[name].core_pool_size, active(name, t))),
    active: times.map((t) => active(name, t)), core: times.map(() => settings[name].core_pool_size),
    maximum: times.map(() => settings[name].maximum_pool_size), queue: times.map((t) => Math.round(100 * wave(i, t) ** 3)),
    capacity: times.map(() => (i === 2 ? null : settings[name].queue_capacity)), submitted: times.map((t) => 120 * wave(i, t)), completed: times.map((t) => 118 * wave(i, t)),
    rejected: times.map((t) => (i === 0 && wave(i, t) > 0.9 ? 4 * noise(t) : 0)), wait_p50: times.map((t) => 0.004 * noise(t)),
    wait_p99: times.map((t) => 0.04 * wave(i, t) + 0.01 * noise(t)), run_p50: times.map(() => 0.02), run_p99: times.map((t) => 0.1 + 0.05 * noise(t)) });
  return { interval: 5, times, pools: Object.fromEntries(names.map((name, i) => [name, columns(name, i)])) };
}

function change(name, wanted, dry, kind = 'changed') {
  if (wanted.maximum_pool_size < (wanted.core_pool_size ?? settings[name].core_pool_size))
    return [422, { error: `maximum_pool_size (${wanted.maximum_pool_size}) is below core_pool_size (${settings[name].core_pool_size})` }];
  const changes = Object.entries(wanted).filter(([field, to]) => settings[name][field] !== to)
    .map(([field, to]) => ({ field, before: String(settings[name][field]), after: String(to) }));
  const report = { pool: name, changes, not_applied: [], warnings: [], after: { ...settings[name], ...wanted } };
  if (dry) return [200, { ...report, revision: revision(name) }];
  Object.assign(settings[name], wanted);
  record(name, kind, changes);
  return [200, { ...report, revision: history[0].revision }];
}

function answer(method, url, body, authorization) {
  const [, api, what, rawName, action] = url.pathname.split('/');
  if (api !== 'api') return [404, { error: 'no such page' }];
  if (method !== 'GET' && authorization !== 'Bearer ' + token) return [401, { error: 'a valid token is needed' }];
  const name = rawName && decodeURIComponent(rawName);
  const dry = url.searchParams.get('dry_run') === 'true';
  if (what === 'session') return [200, {}];
  if (what === 'samples') return [200, samples(Number(url.searchParams.get('since') ?? 0))];
  if (what === 'history') return [200, { history }];
  if (what === 'config') return [200, config()];
  if (what === 'advice') return [200, { advice: advice() }];
  if (what === 'alarms') return [200, { alarms: alarms() }];
  if (what === 'pools' && !name)
    return [200, { time: Date.now() / 1000, writable: true, sample_interval: 5, alarms: 0,
      process: { resident_memory_bytes: 48 << 20, memory_limit_bytes: 512 << 20 }, pools: names.map(summary) }];
  if (!names.includes(name)) return [404, { error: `no pool is named "${name}"` }];
  if (method === 'GET') return [200, detail(name)];
  if (method === 'PATCH') return change(name, body, dry);
  const entry = history.find((e) => e.revision === body.revision && e.pool === name);
  return action === 'rollback' && entry ? change(name, entry.settings, dry, 'rolled_back')
    : [422, { error: 'no such revision' }];
}

createServer((request, response) => {
  const url = new URL(request.url, 'http://127.0.0.1');
  if (url.pathname === '/') {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    response.end(readFileSync(new URL('../../src/manage/web/dashboard.html', import.meta.url)));
    return;
  }
  let body = '';
  request.on('data', (part) => (body += part));
  request.on('end', () => {
    const [status, json] = answer(request.method, url, body ? JSON.parse(body) : {}, request.headers.authorization);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(json));
  });
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}`));
