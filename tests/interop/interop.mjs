// SPDX-License-Identifier: Apache-2.0
// Our sources and stand-ins against programs that others have written, unmodified: the server
// apollo-mock-server, and the clients ctrip-apollo, nacos-config and consul. One line a check.
//
//   node interop.mjs path/to/interop_peer
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import apolloMock from 'apollo-mock-server';
import Consul from 'consul';
import apolloClient from 'ctrip-apollo';
import nacos from 'nacos-config';

const program = process.argv[2];
const patience = 30_000;
const temporary = mkdtempSync(join(tmpdir(), 'cadre_interop_'));
const running = new Set();
let passed = 0;
let failed = 0;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the fact is true, and returns it. */
async function until(what, fact) {
  for (const end = Date.now() + patience; Date.now() < end; await pause(5)) {
    const value = await fact();
    if (value) return value;
  }
  throw new Error(`never: ${what}`);
}

function expect(actual, expected, what) {
  if (JSON.stringify(actual) !== JSON.stringify(expected))
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

/** A process of ours, and the lines it prints. */
class Peer {
  constructor(...words) {
    this.lines = [];
    this.process = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.ended = new Promise((resolve) => this.process.on('close', resolve));
    createInterface({ input: this.process.stdout }).on('line', (line) => this.lines.push(JSON.parse(line)));
    running.add(this);
  }
  get documents() {
    return this.lines.filter((line) => 'text' in line);
  }
  /** Sends a command; the answer is the next line that is no document. */
  async command(text) {
    const answers = () => this.lines.filter((line) => !('text' in line));
    const before = answers().length;
    this.process.stdin.write(text + '\n');
    await until(`an answer to ${text}`, () => answers().length > before);
    return answers()[before];
  }
  async newestIs(text) {
    await until(`the document ${JSON.stringify(text)}`, () => this.documents.at(-1)?.text === text);
  }
  async failsWith(part) {
    await until(`a failure with ${part}`, async () => (await this.command('health')).error.includes(part));
  }
  async end() {
    this.process.stdin.end();
    const code = await this.ended;
    running.delete(this);
    expect(code, 0, 'exit code of our program');
  }
}

async function serving(kind) {
  const peer = new Peer('serve', kind);
  peer.url = (await until('an address', () => peer.lines[0])).url;
  peer.set = (text) => peer.command(`set ${encodeURIComponent(text)}`);
  return peer;
}

async function check(name, body) {
  const began = Date.now();
  try {
    await body();
    ++passed;
    console.log(`interop: ${name} | ${Date.now() - began} ms | passed`);
  } catch (error) {
    ++failed;
    console.log(`interop: ${name} | ${Date.now() - began} ms | FAILED: ${error.stack}`);
    for (const peer of running) peer.process.kill();
    running.clear();
  }
}

// Our Apollo source, and apollo-mock-server: one service for all checks, an own namespace for each.
const mock = new apolloMock.ConfigService({ pollingTimeout: 200 });
const mockUrl = `http://127.0.0.1:${await mock.listen()}`;
const cluster = apolloMock.superAdmin.app('shop').cluster('default');
cluster.setMaxListeners(0); // it adds one for each poll
const namespace = (name) => cluster.namespace(name);
const release = (name, text) => namespace(name).set('content', text).publish();

async function following(name, first) {
  if (first !== undefined) release(name, first);
  const peer = new Peer('follow', 'apollo', mockUrl, name);
  if (first !== undefined) await peer.newestIs(first);
  return peer;
}

const withMock = (what) => `apollo_source with apollo-mock-server: ${what}`;

await check(withMock('waits for a first release'), async () => {
  const peer = await following('first.yaml');
  await peer.failsWith('there is no document');
  release('first.yaml', 'pools: {}\n# é 中');
  await peer.newestIs('pools: {}\n# é 中');
  await peer.end();
});

await check(withMock('is told of 20 releases'), async () => {
  const peer = await following('told.yaml', '0');
  for (let i = 1; i <= 20; ++i) {
    release('told.yaml', `${i}`);
    await peer.newestIs(`${i}`);
  }
  expect(peer.documents.length, 21, 'documents');
  expect(peer.documents.at(-1).revision, namespace('told.yaml').releaseKey, 'revision');
  expect(await peer.command('health').then((h) => h.error), '', 'failures');
  await peer.end();
});

await check(withMock('reads a namespace of properties'), async () => {
  namespace('application').set('pools.a.core_pool_size', '8').set('x y', 'a=b').publish();
  const peer = await following('application');
  await peer.newestIs('pools.a.core_pool_size=8\nx\\ y=a\\=b\n');
  namespace('application').delete('x y').publish();
  await peer.newestIs('pools.a.core_pool_size=8\n');
  await peer.end();
});

await check(withMock('takes nothing from another namespace that changed'), async () => {
  const peer = await following('mine.yaml', 'mine');
  for (let i = 0; i < 5; ++i) release('another.yaml', `${i}`);
  release('mine.yaml', 'mine again');
  await peer.newestIs('mine again');
  expect(peer.documents.map((d) => d.text), ['mine', 'mine again'], 'documents');
  await peer.end();
});

for (const [what, trouble] of [
  ['configurations that are no JSON', (on) => mock.enableFetchError(on)],
  ['notifications that are no JSON', (on) => mock.enableNotificationError(on)],
  ['notifications that are not there', (on) => mock.enableUpdateNotification(!on)],
])
  await check(withMock(`survives ${what}`), async () => {
    const name = `${what.replaceAll(' ', '_')}.yaml`;
    const peer = await following(name, 'before');
    trouble(true);
    try {
      release(name, 'meanwhile');
      await until('failures', async () => (await peer.command('health')).state === 'failing');
    } finally {
      trouble(false);
    }
    release(name, 'after');
    await peer.newestIs('after');
    await peer.end();
  });

await check(withMock('keeps what it has when the namespace cannot be fetched'), async () => {
  const peer = await following('gone.yaml', 'kept');
  mock.enableFetch(false);
  try {
    release('gone.yaml', 'unseen');
    await peer.failsWith('there is no document');
  } finally {
    mock.enableFetch(true);
  }
  await peer.newestIs('unseen');
  expect(peer.documents.map((d) => d.text), ['kept', 'unseen'], 'documents');
  await peer.end();
});

// Our stand-ins, and clients of others.
await check('apollo stand-in with ctrip-apollo: read, pushed, and read from the cache of the server', async () => {
  const server = await serving('apollo');
  await server.set('one');
  const client = apolloClient({ host: server.url, appId: 'shop', enableUpdateNotification: true });
  const space = client.cluster('default').namespace('application');
  await space.ready();
  expect(space.get('text'), 'one', 'the value');
  let changes = [];
  space.on('change', ({ newValue }) => changes.push(newValue));
  // It takes the first notification for granted, and does not look.
  await until('a second poll', async () => (await server.command('polls')).polls > 1);
  for (let i = 0; i < 3; ++i) {
    await server.set(`change ${i}`);
    await until(`change ${i}`, () => changes.at(-1) === `change ${i}`);
  }
  const cached = apolloClient({ host: server.url, appId: 'shop', fetchCachedConfig: true, enableUpdateNotification: false });
  const again = cached.cluster('default').namespace('application');
  await again.ready();
  expect(again.get('text'), 'change 2', 'the cached value');
  client.enableUpdateNotification?.(false);
  await server.end();
});

await check('nacos stand-in with nacos-config: read, listened to, published and removed', async () => {
  const server = await serving('nacos');
  await server.set('one: é');
  const client = new nacos.DataClient({
    serverAddr: server.url.replace('http://', ''),
    namespace: 'ns',
    cacheDir: join(temporary, 'nacos'),
    requestTimeout: patience,
  });
  await client.ready();
  client.on('error', () => {}); // of the end
  expect(await client.getConfig('pools.yaml', 'shop'), 'one: é', 'the document');
  const seen = [];
  client.subscribe({ dataId: 'pools.yaml', group: 'shop' }, (text) => seen.push(text));
  await until('the first', () => seen.at(-1) === 'one: é');
  for (let i = 0; i < 3; ++i) {
    await server.set(`change ${i}`);
    await until(`change ${i}`, () => seen.at(-1) === `change ${i}`);
  }
  expect(seen.length, 4, 'calls of the listener');

  const ours = new Peer('follow', 'nacos', server.url, 'pools.yaml');
  await ours.newestIs('change 2');
  await client.publishSingle('pools.yaml', 'shop', 'published: 中 & more=1');
  await ours.newestIs('published: 中 & more=1');
  await until('its own', () => seen.at(-1) === 'published: 中 & more=1');
  await client.remove('pools.yaml', 'shop');
  await until('nothing', () => ours.documents.at(-1).exists === false);
  client.close();
  await ours.end();
  await server.end();
});

await check('consul stand-in with consul: read, watched, written and deleted', async () => {
  const server = await serving('consul');
  const { hostname, port } = new URL(server.url);
  const client = new Consul({ host: hostname, port: Number(port) });
  await client.kv.set('shop/pools.yaml', 'one: é');
  expect((await client.kv.get('shop/pools.yaml')).Value, 'one: é', 'the value');
  const ours = new Peer('follow', 'consul', server.url, 'shop/pools.yaml');
  await ours.newestIs('one: é');
  const seen = [];
  const watch = client.watch({ method: client.kv.get, options: { key: 'shop/pools.yaml' }, backoffFactor: 10 });
  watch.on('change', (data) => seen.push(data?.Value));
  for (let i = 0; i < 3; ++i) {
    await client.kv.set('shop/pools.yaml', `change ${i}`);
    await until(`change ${i}`, () => seen.at(-1) === `change ${i}`);
    await ours.newestIs(`change ${i}`);
  }
  await client.kv.del('shop/pools.yaml');
  await until('nothing', () => ours.documents.at(-1).exists === false);
  watch.end();
  await ours.end();
  await server.end();
});

rmSync(temporary, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1); // the clients keep timers
