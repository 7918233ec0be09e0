// Requests to the server, and its stream of changes.

export class ApiError extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

const handlers = {unauthorized: () => {}};
export function onUnauthorized(f) { handlers.unauthorized = f; }

async function failure(response) {
  let text = response.statusText || 'status ' + response.status;
  try {
    const body = await response.json();
    const inner = body.detail ?? body.error?.message ?? body.message;
    if (inner) text = typeof inner === 'string' ? inner : JSON.stringify(inner);
  } catch { /* not JSON */ }
  if (response.status === 401) handlers.unauthorized();
  return new ApiError(response.status, text);
}

export async function send(method, path, body, signal) {
  const headers = {Accept: 'application/json', 'X-Tinkc-Console': '1'};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const response = await fetch(path, {method, headers, signal, cache: 'no-store', credentials: 'same-origin',
    body: body === undefined ? undefined : JSON.stringify(body)});
  if (!response.ok) throw await failure(response);
  return response;
}

export async function get(path, signal) {
  return (await send('GET', path, undefined, signal)).json();
}

export async function post(path, body, signal) {
  const response = await send('POST', path, body, signal);
  return response.status === 204 ? null : response.json();
}

/* What serves the page: "serve", or "console", which shows files and computes nothing. */
export const about = {kind: 'serve'};

const C = '/tinkc/v1/console/';
const q = params => {
  const all = Object.entries(params || {}).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return all.length ? '?' + all.map(([k, v]) => k + '=' + encodeURIComponent(v)).join('&') : '';
};
const id = encodeURIComponent;
const cid = text => text.split('/').map(encodeURIComponent).join('/');
const checkpoint = (run, c) => '/api/v1/training_runs/' + id(run) + '/checkpoints/' + cid(c);

export const api = {
  session: () => get(C + 'session'),
  login: body => post(C + 'login', body),
  logout: () => post(C + 'logout', {}),
  runs: params => get(C + 'runs' + q(params)),
  run: (run, signal) => get(C + 'runs/' + id(run), signal),
  series: (run, params, signal) => get(C + 'runs/' + id(run) + '/series' + q(params), signal),
  samples: (params, signal) => get(C + 'samples' + q(params), signal),
  sample: sample => get(C + 'samples/' + id(sample)),
  forget: async sample => (await send('DELETE', C + 'samples' + (sample ? '/' + id(sample) : ''))).json(),
  episodes: (params, signal) => get(C + 'episodes' + q(params), signal),
  episode: name => get('/tinkc/v1/episodes/' + id(name)),
  forgetEpisode: name => send('DELETE', '/tinkc/v1/episodes/' + id(name)),
  decode: (model, ids) => post(C + 'decode', {model, ids}),
  server: () => get(C + 'server'),
  models: () => get('/v1/models'),
  publish: (run, c, on) => send(on ? 'POST' : 'DELETE', checkpoint(run, c) + '/publish', on ? {} : undefined),
  ttl: (run, c, seconds) => send('PUT', checkpoint(run, c) + '/ttl', {ttl_seconds: seconds}),
  remove: (run, c) => send('DELETE', checkpoint(run, c)),
  archive: (run, c) => checkpoint(run, c) + '/archive',
};

/* Posts and reads the answer as a stream of events; calls `on` with the object of each. */
export async function stream(path, body, on, signal) {
  const response = await send('POST', path, {...body, stream: true}, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf('\n\n')) >= 0) {
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const data = block.split('\n').filter(l => l.startsWith('data:')).map(l => l.slice(5).trimStart()).join('\n');
      if (!data || data === '[DONE]') continue;
      const event = JSON.parse(data);
      if (event.error) throw new ApiError(500, event.error.message || 'the stream failed');
      on(event);
    }
  }
}

// ---- live ----

const listeners = new Set();
let source = null, state = '', onState = () => {};

/* Calls f(event, data) for each change until the returned function is called. */
export function live(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

function tell(name, data) {
  for (const f of [...listeners]) {
    try { f(name, data); } catch (error) { console.error(error); }
  }
}

function setState(text) {
  if (state !== text) { state = text; onState(text); }
}

export function startLive(onChange) {
  onState = onChange;
  stopLive();
  source = new EventSource(C + 'events');
  source.onopen = () => setState('live');
  source.onerror = () => setState(source && source.readyState === EventSource.CLOSED ? 'off' : 'waiting');
  for (const name of ['hello', 'reset', 'run', 'step', 'sample', 'episode', 'server']) {
    source.addEventListener(name, e => {
      let data = {};
      try { data = JSON.parse(e.data); } catch { /* an empty event */ }
      setState('live');
      tell(name, data);
    });
  }
}

export function stopLive() {
  if (source) source.close();
  source = null;
  setState('off');
}

addEventListener('beforeunload', () => { if (source) source.close(); });
