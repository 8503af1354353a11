// SPDX-License-Identifier: Apache-2.0
// Numbers, times and durations as the page shows them. What is not known is a dash.

const dash = '–';
const known = (x) => x !== null && x !== undefined && Number.isFinite(x);

export function count(x) {
  if (!known(x)) return dash;
  if (Math.abs(x) < 10000) return String(Math.round(x));
  for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e3]])
    if (Math.abs(x) >= size) return (x / size).toFixed(x / size < 100 ? 1 : 0) + unit;
  return String(x);
}

export function rate(x) {
  if (!known(x)) return dash;
  return x !== 0 && x < 10 ? x.toFixed(1) : count(x);
}

/** Seconds, in the unit that fits. */
export function seconds(x) {
  if (!known(x)) return dash;
  if (x === 0) return '0';
  const of = (value, unit) => (value < 10 ? value.toFixed(1) : value.toFixed(0)) + ' ' + unit;
  if (x < 1e-6) return of(x * 1e9, 'ns');
  if (x < 1e-3) return of(x * 1e6, 'µs');
  if (x < 1) return of(x * 1e3, 'ms');
  if (x < 120) return of(x, 's');
  if (x < 7200) return of(x / 60, 'min');
  return of(x / 3600, 'h');
}

/** Bytes, in the unit that fits. */
export function bytes(x) {
  if (!known(x)) return dash;
  const unit = Math.min(Math.max(Math.floor(Math.log2(Math.max(x, 1)) / 10), 0), 4);
  const value = x / 1024 ** unit;
  return (unit > 0 && value < 10 ? value.toFixed(1) : value.toFixed(0)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit];
}

export const percent = (x) => (known(x) ? Math.round(100 * x) + ' %' : dash);

/** A setting as it is written. */
export const setting = (value) => (value === null || value === undefined ? dash : String(value));

export function clock(unixSeconds) {
  if (!known(unixSeconds)) return dash;
  const then = new Date(unixSeconds * 1000);
  const time = then.toLocaleTimeString([], { hour12: false });
  return then.toDateString() === new Date().toDateString()
    ? time
    : then.toLocaleDateString() + ' ' + time;
}
