// The REST interface (docs/platform-api.md), with the session's CSRF token.

import {language} from './i18n.js';

const root = document.documentElement.dataset.api;
let csrf = '';

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message || `HTTP ${status}`);
    this.status = status;
    this.code = error.code || '';
    this.advice = error.advice || '';
    this.problems = error.problems || [];
  }
}

export const address = (path, query) => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {}))
    if (value !== undefined && value !== null && value !== '') parameters.set(name, value);
  const text = parameters.toString();
  return root + path + (text ? '?' + text : '');
};

export function useCsrf(token) { csrf = token || ''; }

// `seen`: the etag of the object when somebody began to change it, null for a new object.
async function ask(method, path, {query, body, text, signal, seen} = {}) {
  // The server writes texts for people in the language of the page.
  const headers = {Accept: text ? 'text/plain, text/yaml, */*' : 'application/json', 'X-Assay-Language': language};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (method !== 'GET') headers['X-CSRF-Token'] = csrf;
  if (seen) headers['If-Match'] = seen;
  if (seen === null) headers['If-None-Match'] = '*';
  let response;
  try {
    response = await fetch(address(path, query), {
      method, headers, signal, credentials: 'same-origin', cache: 'no-store', redirect: 'error',
      body: body === undefined ? undefined : JSON.stringify(body)});
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new ApiError(0, {code: 'unreachable', message: 'unreachable'});
  }
  const answer = await response.text();
  if (!response.ok) {
    let error = {};
    try { error = JSON.parse(answer).error || {}; } catch { /* not of the server */ }
    if (response.status === 401) window.dispatchEvent(new Event('assay:signed-out'));
    throw new ApiError(response.status, error);
  }
  if (text) return answer;
  return answer ? JSON.parse(answer) : null;
}

export const get = (path, query, options) => ask('GET', path, {query, ...options});
export const getText = (path, query) => ask('GET', path, {query, text: true});
export const post = (path, body, options) => ask('POST', path, {body: body ?? {}, ...options});
export const put = (path, body, seen) => ask('PUT', path, {body, seen});
export const patch = (path, body, seen) => ask('PATCH', path, {body, seen});
export const remove = (path, seen) => ask('DELETE', path, {seen});

// A text that comes in parts, as a file; `progress` gets the number of bytes so far. Parts are put
// aside as blobs, which a browser need not keep in memory.
export async function whole(path, query, progress) {
  const parts = [];
  let from, name, bytes = 0;
  do {
    let response;
    try {
      response = await fetch(address(path, {...query, from}), {headers: {'X-Assay-Language': language}, credentials: 'same-origin', cache: 'no-store', redirect: 'error'});
    } catch {
      throw new ApiError(0, {code: 'unreachable', message: 'unreachable'});
    }
    if (!response.ok) {
      let error = {};
      try { error = (await response.json()).error || {}; } catch { /* not of the server */ }
      if (response.status === 401) window.dispatchEvent(new Event('assay:signed-out'));
      throw new ApiError(response.status, error);
    }
    from = response.headers.get('X-Assay-Next');
    name = /filename="([^"]+)"/.exec(response.headers.get('Content-Disposition') || '')?.[1] || 'console.log';
    const blob = await response.blob();
    // The last line of a part that is not the last one tells readers how to continue, unless the part ends within a line ("17.1024").
    const more = from && !from.includes('.') ? new Blob([`… (goes on with from=${from})\n`]).size : 0;
    parts.push(blob.slice(0, blob.size - more));
    progress(bytes += blob.size - more);
  } while (from);
  return new File(parts, name, {type: 'text/plain'});
}

// Server-sent events; `onLost` if there is no stream, so that the caller polls. The
// browser connects again by itself, but not after an answer that is not a stream.
export function stream(path, query, events, onLost) {
  if (!window.EventSource) { onLost(); return () => {}; }
  const source = new EventSource(address(path, query));
  for (const [name, handler] of Object.entries(events))
    source.addEventListener(name, e => {
      let data = null;
      try { data = JSON.parse(e.data); } catch { return; }
      handler(data, e.lastEventId);
    });
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) onLost(); };
  return () => source.close();
}

export const part = text => encodeURIComponent(text);
