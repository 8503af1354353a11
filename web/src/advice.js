// SPDX-License-Identifier: Apache-2.0
// What could be set better, and why; as the process measured it.

import { h } from './dom.js';
import { poolLink } from './overview.js';

/** `button(entry)` gives what stands at the end of an entry; it stands on the page of that pool. Nothing if there is no advice. */
export function adviceCard(advice, button = null) {
  return advice.length > 0 && h('section.card#advice', h('h2', 'Advice'),
    h('ul.advice', advice.map((entry) => h('li',
      button === null && [h('a', { href: poolLink(entry.pool) }, entry.pool), ': '], entry.message, ' ', button?.(entry)))));
}
