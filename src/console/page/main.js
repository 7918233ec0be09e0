// The frame: which view is shown, login, light and dark, keys.
import {el, fill, note, dialog, field} from './dom.js';
import {about, api, onUnauthorized, startLive, stopLive} from './api.js';
import {isDark} from './chart.js';
import {showRuns} from './runs.js';
import {showRun} from './run.js';
import {showRollouts} from './rollouts.js';
import {showPlayground} from './playground.js';
import {showServer} from './server.js';

const main = document.getElementById('main');
let leave = () => {}, shown = 0;

// ---- views ----

/* A % that begins no character is one that somebody typed. */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/* "#/runs/ID?x=1" as {path: ['runs', 'ID'], query}. */
function place() {
  const [path, query] = (location.hash.replace(/^#/, '') || '/runs').split('?');
  return {path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query || '')};
}

function pick(path) {
  if (path[0] === 'runs' && path[1]) return ['runs', showRun];
  return {rollouts: ['rollouts', showRollouts], playground: ['playground', showPlayground],
    server: ['server', showServer]}[path[0]] || ['runs', showRuns];
}

function go() {
  if (location.hash === '#main') { main.focus(); return; }
  const {path, query} = place(), [name, view] = pick(path), turn = ++shown;
  leave();
  leave = () => {};
  for (const link of document.querySelectorAll('nav [data-view]')) {
    if (link.dataset.view === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const box = el('div', {class: 'view view-' + name});
  fill(main, box);
  const alive = () => turn === shown;
  try {
    const end = view(box, {path, query, alive, fail: error => alive() && failed(box, error), title: text => {
      if (alive()) document.title = text + ' · tinkc';
    }});
    if (end) leave = end;
  } catch (error) {
    failed(box, error);
  }
}

function failed(box, error) {
  if (error.status === 401 || error.name === 'AbortError') return;
  fill(box, el('section', {class: 'empty', role: 'alert'}, el('h1', {}, error.status === 404 ? 'Not found' : 'That did not work'),
    el('p', {}, error.message || String(error)),
    el('p', {}, el('button', {onclick: go}, 'Try again'), ' ', el('a', {href: '#/runs'}, 'All runs'))));
}

// ---- login ----

let loginShown = false;

function showLogin(message) {
  if (loginShown) return;
  loginShown = true;
  leave();
  leave = () => {};
  shown++;
  stopLive();
  document.title = 'Log in · tinkc';
  document.body.classList.add('locked');
  const key = el('input', {type: 'password', name: 'key', autocomplete: 'current-password', required: true, placeholder: 'tml-…'});
  const problem = el('p', {class: 'bad', role: 'alert'}, message || '');
  const form = el('form', {class: 'login', onsubmit: async e => {
    e.preventDefault();
    problem.textContent = '';
    try {
      await api.login({key: key.value});
      await begin();
    } catch (error) {
      problem.textContent = error.status === 401 ? 'The server does not know this key.' : error.message;
      key.select();
    }
  }}, el('h1', {}, 'Log in'), el('p', {}, 'This server needs its key, the one it was started with (--api-key).'),
    field('API key', key), problem, el('button', {class: 'primary'}, 'Log in'));
  fill(main, form);
  key.focus();
}

onUnauthorized(() => showLogin(''));

/* Takes a one-time code out of the address, so that it stays in no history. */
async function takeCode() {
  const params = new URLSearchParams(location.hash.replace(/^#/, ''));
  if (!location.hash.startsWith('#login=')) return '';
  const to = params.get('to') || '/runs';
  history.replaceState(null, '', location.pathname + '#' + (to.startsWith('/') ? to : '/' + to));
  try {
    await api.login({code: params.get('login')});
    return '';
  } catch (error) {
    return error.status === 401 ? 'The code of the address was used or is too old.' : error.message;
  }
}

const states = {live: ['Live', 'Changes appear as they happen'], waiting: ['Reconnecting', 'The server does not answer'], off: ['Not live', 'Reload the page']};

async function begin(message) {
  const session = await api.session();
  if (session.login === 'needed') { loginShown = false; showLogin(message); return; }
  loginShown = false;
  about.kind = session.kind;
  document.querySelector('nav [data-view=playground]').hidden = session.kind === 'console';
  document.body.classList.remove('locked');
  document.getElementById('logout').hidden = session.login !== 'done';
  const dot = document.getElementById('live');
  startLive(state => {
    const [text, title] = states[state];
    dot.dataset.state = state;
    dot.textContent = text;
    dot.title = title;
  });
  go();
}

document.getElementById('logout').addEventListener('click', async () => {
  try { await api.logout(); } catch { /* the cookie is gone anyway */ }
  showLogin('');
});

// ---- light and dark ----

const themeButton = document.getElementById('theme');

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  themeButton.textContent = isDark() ? '☾' : '☀';
  dispatchEvent(new Event('themechange'));
}

function switchTheme() {
  const next = isDark() ? 'light' : 'dark';
  localStorage.setItem('tinkc-theme', next);
  setTheme(next);
}

themeButton.addEventListener('click', switchTheme);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(localStorage.getItem('tinkc-theme')));
setTheme(localStorage.getItem('tinkc-theme'));

// ---- keys ----

const keys = [['1', 'Runs'], ['2', 'Rollouts'], ['3', 'Playground'], ['4', 'Server'], ['/', 'Search'], ['t', 'Light or dark'],
  ['← →', 'Read values of a chart, or tokens, that has the focus'], ['+ −', 'Zoom a chart in and out'], ['?', 'This list']];

function showKeys() {
  dialog('Keys', el('dl', {class: 'keys'}, keys.map(([key, text]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)])),
    [{label: 'Close', value: ''}]);
}

document.getElementById('keys').addEventListener('click', showKeys);
addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, textarea, select, dialog[open]')) return;
  const views = {1: '#/runs', 2: '#/rollouts', 3: '#/playground', 4: '#/server'};
  if (e.key === '3' && about.kind === 'console') return;
  if (views[e.key]) location.hash = views[e.key];
  else if (e.key === 't') switchTheme();
  else if (e.key === '?') showKeys();
  else if (e.key === '/') main.querySelector('input[type=search]')?.focus();
  else return;
  e.preventDefault();
});

addEventListener('hashchange', () => { if (!loginShown) go(); });
takeCode().then(begin).catch(error => {
  note(error.message, 'bad');
  fill(main, el('section', {class: 'empty', role: 'alert'}, el('h1', {}, 'The server does not answer'), el('p', {}, error.message),
    el('button', {onclick: () => location.reload()}, 'Try again')));
});
