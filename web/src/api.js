// SPDX-License-Identifier: Apache-2.0
// The requests to the process that serves this page: docs/http-api.md.

const key = 'cadre-token';

export const token = {
  get: () => sessionStorage.getItem(key),
  set: (value) => sessionStorage.setItem(key, value),
  clear: () => sessionStorage.removeItem(key),
};

export class ApiError extends Error {
  constructor(status, message, details) {
    super(message);
    this.status = status;
    this.details = details;
  }
}

async function ask(method, path, body, headers = {}) {
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (method !== 'GET' && token.get()) headers.Authorization = 'Bearer ' + token.get();
  const answer = await fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: 'no-store',
    signal: AbortSignal.timeout(10000),
  });
  const text = await answer.text();
  let json = null;
  try {
    json = JSON.parse(text);
  } catch {
    // told below by the status
  }
  if (!answer.ok || json === null)
    throw new ApiError(answer.status, json?.error ?? `${method} ${path}: ${answer.status}`, json);
  return json;
}

const pool = (name) => '/api/pools/' + encodeURIComponent(name);

export const pools = () => ask('GET', '/api/pools');
export const poolDetail = (name) => ask('GET', pool(name));
export const samples = (since) => ask('GET', '/api/samples' + (since ? '?since=' + since : ''));
export const history = () => ask('GET', '/api/history');
export const config = () => ask('GET', '/api/config');
export const alarms = () => ask('GET', '/api/alarms');
export const advice = () => ask('GET', '/api/advice');
export const preview = (name, settings) => ask('PATCH', pool(name) + '?dry_run=true', settings);
/** Refused if the pool is not at that revision any more: somebody else changed it. */
export const apply = (name, settings, revision) =>
  ask('PATCH', pool(name), settings, { 'If-Match': `"${revision}"` });
export const previewRollback = (name, to) => ask('POST', pool(name) + '/rollback?dry_run=true', { revision: to });
/** Likewise. */
export const rollback = (name, to, revision) =>
  ask('POST', pool(name) + '/rollback', { revision: to }, { 'If-Match': `"${revision}"` });
/** Throws ApiError 401 if the token is not the right one. */
export const tryToken = () => ask('POST', '/api/session', {});
