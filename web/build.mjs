// SPDX-License-Identifier: Apache-2.0
// Makes one page of all in src: script, style and charts inside, nothing to load from elsewhere.
// It goes to src/manage/web, where the library embeds it. --check: only says whether it is current.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = here('../src/manage/web/dashboard.html');

const bundled = async (entry) => {
  const made = await build({
    entryPoints: [here(entry)], bundle: true, minify: true, format: 'esm', target: 'es2022',
    charset: 'utf8', legalComments: 'none', write: false, absWorkingDir: here('.'),
  });
  return made.outputFiles[0].text.trim();
};

// The page may run this script and this style, and talk to where it came from: nothing else.
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const script = (await bundled('src/main.js')).replaceAll('</script', '<\\/script');
const style = await bundled('src/all.css');
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; ` +
  `connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'`;
const fill = (text, mark, content) => text.split(mark).join(content);
let page = readFileSync(here('src/index.html'), 'utf8');
page = fill(page, '<!--csp-->', `<meta http-equiv="Content-Security-Policy" content="${policy}">`);
page = fill(page, '/*css*/', style);
page = fill(page, '/*js*/', script);

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== page) {
    console.error('src/manage/web/dashboard.html is not what web/src makes: run `make web`');
    process.exit(1);
  }
} else {
  writeFileSync(target, page);
  console.log(`src/manage/web/dashboard.html: ${Math.round(Buffer.byteLength(page) / 1024)} KB`);
}
