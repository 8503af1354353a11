// SPDX-License-Identifier: Apache-2.0
// The dashboard in a real browser, against the demo service:
//   node dashboard.test.mjs DEMO CONFIG SCREENSHOTS
// sees pools move, edits a size, sees the preview, applies, sees threads grow, and rolls back. Waits
// for what it waits for; a guard turns what never comes into a failure.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const [demo, config, screenshots] = process.argv.slice(2);
const guard = 90_000;
const token = 'the token of the browser test';
const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
assert(browserPath, 'no chromium is installed: tools/setup.sh');
mkdirSync(screenshots, { recursive: true });
const edited = join(screenshots, 'pools.yaml');
copyFileSync(config, edited);

/** Starts the demo on a free port; resolves with its address. */
function startDemo() {
  const child = spawn(demo, ['--port', '0', '--config', edited], {
    env: { ...process.env, CADRE_TOKEN: token }, stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = new Promise((found, failed) => {
    child.on('exit', (code) => failed(new Error(`the demo ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const url = /^The dashboard:\s+(http:\S+)/.exec(line);
      if (url) found(url[1]);
    });
  });
  return { child, address };
}

async function open(browser, base, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(guard);
  page.foreign = [];
  page.problems = [];
  page.on('request', (r) => {
    if (!r.url().startsWith(base) && !r.url().startsWith('data:')) page.foreign.push(r.url());
  });
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('console', (m) => {
    if (m.type() === 'error' && !m.text().includes('401')) page.problems.push(m.text());
  });
  await page.goto(base + '/');
  await page.waitForSelector('#pools tbody tr:nth-child(3)');
  return page;
}

const cellOf = (page, pool, label) =>
  page.locator('#pools tbody tr', { hasText: pool }).locator(`td[data-label="${label}"]`);

async function seesPoolsMove(page) {
  const row = page.locator('#pools tbody tr', { hasText: 'requests' });
  const before = await row.textContent();
  await page.waitForFunction((old) => [...document.querySelectorAll('#pools tbody tr')]
    .some((r) => r.textContent.includes('requests') && r.textContent !== old), before);
  await page.waitForFunction(() => document.querySelectorAll('.chart canvas').length === 6);
  await page.waitForFunction(() => /requests \d/.test(document.querySelector('[data-keep=done] .legend')?.textContent ?? ''));
  assert.match(await cellOf(page, 'requests', 'Load: busy of maximum').textContent(), /\d+ \/ 4/);
  assert.match(await page.textContent('#memory'), /Memory of the process: [\d.]+ MiB/);
}

/** For as long as the page is brought up to date once or more. */
const nextLook = (page) => page.evaluate(() => new Promise((seen) => {
  const live = document.getElementById('live');
  new MutationObserver((_, watch) => { watch.disconnect(); seen(); }).observe(live, { childList: true });
}));

/** The values under the pointer and their time stay as long as it does; then the latest are back. */
async function keepsTheValuesUnderThePointer(page) {
  const legend = page.locator('[data-keep=queue] .legend');
  await page.waitForFunction(() => /jobs \d/.test(document.querySelector('[data-keep=queue] .legend').textContent));
  const box = await page.locator('[data-keep=queue] .chart .u-over').boundingBox();
  await page.mouse.move(box.x + box.width - 4, box.y + box.height / 2);
  for (let i = 0; i < 3; ++i) {
    assert.match(await legend.textContent(), /at \d\d:\d\d:\d\d$/);
    await nextLook(page);
    await nextLook(page);
  }
  await page.mouse.move(1, 1);
  await page.waitForFunction(() => !/at \d/.test(document.querySelector('[data-keep=queue] .legend').textContent));
}

/** Who hears the page is told of news only, not of the time once a second. */
async function isQuietForWhoHearsIt(page) {
  const spoken = () => page.locator('[role=status], [aria-live]').allTextContents();
  assert.deepEqual((await spoken()).filter(Boolean), []);
  await page.context().setOffline(true);
  await page.waitForFunction(() => document.querySelector('[role=status]').textContent === 'no answer');
  await page.context().setOffline(false);
  await page.waitForFunction(() => document.querySelector('[role=status]').textContent === '');
}

async function saysThatAPoolIsNotThere(browser, base) {
  const page = await open(browser, base, {});
  for (const name of ['nobody', '%zz', 'constructor']) {
    await page.evaluate((hash) => { location.hash = hash; }, '#/pool/' + name);
    await page.waitForFunction((text) => document.querySelector('main').textContent.includes(text), `no pool is named "${name}"`);
  }
  assert.deepEqual(page.problems.filter((text) => !text.includes('404')), []);
  await page.context().close();
}

/** From the top of the page, with nothing but Tab and Enter. */
async function opensAPoolByKeyboard(page) {
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
  for (let i = 0; i < 30; ++i) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate(() => document.activeElement.textContent)) === 'requests') break;
  }
  await page.keyboard.press('Enter');
  await page.waitForSelector('#workers tbody tr');
  await page.waitForFunction(() => document.querySelector('h1').textContent.includes('requests'));
}

/** The busy ones with the names of their tasks; and each kind of task with percentiles. */
async function seesWhatWorkersDo(page) {
  await page.waitForFunction(() => [...document.querySelectorAll('#workers tbody tr')]
    .some((row) => /browse|search|add to cart|checkout/.test(row.textContent)));
  await page.waitForFunction(() => [...document.querySelectorAll('table.stack tbody tr')]
    .some((row) => /checkout/.test(row.textContent) && /ms/.test(row.textContent)));
  await page.waitForFunction(() => /^[1-9]\S*Submitted/.test(document.querySelector('#totals .tile').textContent));
  const settings = await page.textContent('[data-keep=settings]');
  assert.match(settings, /Run time limitnone/);
  assert.match(settings, /Core threads time outno/);
  assert.equal(await page.locator('main a', { hasText: 'requests' }).count(), 0, 'links to itself');
}

async function unlocks(page) {
  await page.click('#unlock');
  await page.fill('#token', 'not the token at all');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#token-error:not([hidden])');
  await page.fill('#token', token);
  await page.keyboard.press('Enter');
  await page.waitForSelector('[name=core_pool_size]');
}

async function refusesWhatCannotBe(page) {
  await page.fill('[name=core_pool_size]', '99');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#preview .error');
  assert.match(await page.textContent('#preview'), /core_pool_size/);
  assert(await page.isDisabled('#apply'));
}

async function growsAndRollsBack(page) {
  await page.fill('[name=core_pool_size]', '6');
  await page.fill('[name=maximum_pool_size]', '8');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#preview ins');
  const preview = await page.textContent('#preview');
  assert.match(preview, /core_pool_size: 2 → 6/);
  assert.match(preview, /maximum_pool_size: 4 → 8/);
  await page.screenshot({ path: join(screenshots, 'preview.png') });
  await page.click('#apply');
  await page.waitForSelector('#preview .ok');
  await page.waitForFunction(() => Number(document.querySelector('#threads').textContent) >= 6);
  await page.waitForFunction(() => document.querySelectorAll('#workers tbody tr').length >= 6);

  const entries = page.locator('ol.history > li');
  await entries.filter({ hasText: 'core_pool_size' }).first().waitFor();
  await entries.nth(1).getByRole('button').click();
  const confirm = entries.nth(1).getByRole('button', { name: 'Roll back' });
  await confirm.waitFor();
  assert.match(await entries.nth(1).textContent(), /core_pool_size: 6 → 2/);
  await confirm.click();
  await entries.filter({ hasText: 'rolled_back' }).first().waitFor();
  await page.waitForFunction(() => document.querySelector('[name=core_pool_size]').value === '2');
}

const focused = (page) => page.evaluate(() => document.activeElement.name || document.activeElement.id);

/** As slowly as people are: the page is brought up to date meanwhile, again and again. */
async function editsByKeyboard(page) {
  await page.focus('[name=maximum_pool_size]');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('1');
  await nextLook(page);
  await nextLook(page);
  await page.keyboard.type('2');
  assert.equal(await page.inputValue('[name=maximum_pool_size]'), '12');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#preview ins');
  await nextLook(page);
  await nextLook(page);
  assert.equal(await focused(page), 'apply');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#preview .ok');
  await nextLook(page);
  assert.equal(await focused(page), 'core_pool_size');
}

/** One that the file has made, in the table and in the charts. */
async function showsANewPool(page) {
  await page.click('nav a[data-page=pools]');
  await page.waitForFunction(() => document.querySelectorAll('.chart canvas').length === 6);
  writeFileSync(edited + '.new', readFileSync(edited, 'utf8') + '\n  extra:\n    auto_create: true\n    core_pool_size: 1\n');
  renameSync(edited + '.new', edited);
  await page.waitForSelector('#pools tbody a >> text=extra');
  await page.waitForFunction(() => /extra \d/.test(document.querySelector('[data-keep=done] .legend').textContent));
  await page.waitForFunction(() => document.querySelectorAll('.chart canvas').length === 6);
}

async function looksRight(browser, base, name, options) {
  const page = await open(browser, base, options);
  await page.waitForFunction(() => document.querySelectorAll('.chart canvas').length === 6);
  const fits = async (what) => {
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth ? [] :
      [...document.querySelectorAll('*')].filter((each) => each.getBoundingClientRect().right > window.innerWidth)
        .map((each) => `${each.tagName} ${each.className} ${each.textContent.slice(0, 60)}`));
    assert.deepEqual(beyond, [], `${name}: ${what} is wider than the screen`);
    const cut = await page.evaluate(() => [...document.querySelectorAll('.scroll')]
      .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent.slice(0, 60)));
    assert.deepEqual(cut, [], `${name}: a table of ${what} is cut off`);
  };
  await fits('the overview');
  await page.screenshot({ path: join(screenshots, `${name}-overview.png`), fullPage: true });
  await page.click('#pools tbody a >> text=requests');
  await page.waitForSelector('#workers tbody tr');
  await page.waitForFunction(() => document.querySelectorAll('.chart canvas').length === 5);
  await fits("a pool's page");
  await page.screenshot({ path: join(screenshots, `${name}-pool.png`), fullPage: true });
  for (const other of ['alarms', 'history']) {
    await page.click(`nav a[data-page=${other}]`);
    await page.waitForSelector('section.card');
    await fits(other);
    if (other === 'history') {
      await page.waitForSelector('#sources tbody tr >> text=healthy');
      await page.screenshot({ path: join(screenshots, `${name}-history.png`), fullPage: true });
    }
  }
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

/** Back through the form of a phone: the bar at the top covers nothing that has the focus. */
async function hidesNoFocus(browser, base) {
  const page = await open(browser, base, { viewport: { width: 390, height: 600 } });
  await page.click('#pools tbody a >> text=requests');
  await unlocks(page);
  const covered = () => page.evaluate(() => document.activeElement.getBoundingClientRect().top <
    document.querySelector('header').getBoundingClientRect().bottom);
  await page.focus('[name=interrupt_on_run_timeout]');
  for (let i = 0; i < 20 && (await focused(page)) !== 'core_pool_size'; ++i) {
    await page.keyboard.press('Shift+Tab');
    assert(!(await covered()), `${await focused(page)} is behind the bar`);
  }
  assert.equal(await focused(page), 'core_pool_size');
  await page.context().close();
}

const { child, address } = startDemo();
let browser;
try {
  const base = await address;
  browser = await chromium.launch({
    executablePath: browserPath, timeout: guard,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  const page = await open(browser, base, { viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
  await seesPoolsMove(page);
  await keepsTheValuesUnderThePointer(page);
  await isQuietForWhoHearsIt(page);
  await page.reload();
  await page.waitForSelector('#pools tbody tr:nth-child(3)');
  page.problems.length = 0;  // of the time without a network
  await opensAPoolByKeyboard(page);
  await seesWhatWorkersDo(page);
  await unlocks(page);
  await refusesWhatCannotBe(page);
  await growsAndRollsBack(page);
  await editsByKeyboard(page);
  await showsANewPool(page);
  await saysThatAPoolIsNotThere(browser, base);
  await hidesNoFocus(browser, base);
  assert.deepEqual(page.foreign, [], 'nothing is loaded from elsewhere');
  assert.deepEqual(page.problems.filter((text) => !text.includes('422')), []);
  for (const colorScheme of ['light', 'dark']) {
    await looksRight(browser, base, `${colorScheme}-wide`, { viewport: { width: 1280, height: 900 }, colorScheme });
    await looksRight(browser, base, `${colorScheme}-narrow`, { viewport: { width: 390, height: 844 }, colorScheme });
  }
  await looksRight(browser, base, 'light-tablet', { viewport: { width: 768, height: 1024 }, colorScheme: 'light' });
  console.log('ok');
} finally {
  await browser?.close();
  child.removeAllListeners('exit');
  const gone = new Promise((done) => child.on('exit', done));
  if (child.exitCode === null && child.kill('SIGTERM')) await gone;
}
