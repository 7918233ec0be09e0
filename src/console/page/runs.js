// The list of runs, and several of them over each other.
import {el, fill, refill, num, count, many, ago, timeTag, short, shortId, visible, empty, debounce, throttle, select, save, note} from './dom.js';
import {about, api, live} from './api.js';
import {chart, spark} from './chart.js';
import {axis, toLine, sortMetrics} from './series.js';

const PAGE = 50;

/* A run of `tinkc console` whose id is the path of its file: the end of it says more than the beginning. */
const isFile = run => about.kind === 'console' && run.service == null;
const factsOf = run => [visible((run.model || '').split('/').pop()), run.rank && 'rank ' + run.rank, run.service != null && 'service'].filter(Boolean).join(' · ');

export function stateTag(state) {
  return el('span', {class: 'state ' + state}, state);
}

export function showRuns(box, {query, alive, fail, title}) {
  title('Runs');
  let runs = [], total = 0, limit = PAGE, search = '';
  const picked = new Map((query.get('compare') || '').split(',').filter(Boolean).map(id => [id, null]));
  const head = el('div', {class: 'head'}, el('h1', {}, 'Runs'),
    el('input', {type: 'search', placeholder: 'Search', 'aria-label': 'Search runs', oninput: debounce(250, e => {
      search = e.target.value; limit = PAGE; load();
    })}));
  const compare = el('section', {class: 'card', hidden: true, 'aria-label': 'Comparison'});
  const list = el('div', {}), service = el('div', {});
  fill(box, head, service, compare, list);
  const comparison = makeComparison(compare, picked, alive, () => {
    history.replaceState(null, '', '#/runs');
    render();
  });

  function pick(run, on) {
    if (on) picked.set(run.id, run); else picked.delete(run.id);
    const ids = [...picked.keys()].map(encodeURIComponent).join(',');
    history.replaceState(null, '', '#/runs' + (ids ? '?compare=' + ids : ''));
    comparison.update();
  }

  function row(run) {
    const name = short(visible(run.name), 60);
    return el('tr', {data: {run: run.id, key: run.id}},
      el('td', {class: 'pick'}, el('input', {type: 'checkbox', checked: picked.has(run.id), 'aria-label': 'Compare ' + name,
        onchange: e => pick(run, e.target.checked)})),
      el('th', {scope: 'row'}, el('a', {href: '#/runs/' + encodeURIComponent(run.id), title: run.id}, name),
        el('small', {}, factsOf(run), el('span', {class: 'wide'}, factsOf(run) && ' · ', isFile(run) ? visible(run.id).replace(/^.*(?=.{48}$)/s, '…') : shortId(run.id)))),
      el('td', {}, stateTag(run.state)),
      el('td', {class: 'n', data: {cell: 'loss'}}, num(run.loss)),
      el('td', {class: 'wide'}, spark(run.spark, 'Loss, ' + (run.spark?.length ? num(run.spark[0]) + ' to ' + num(run.loss) : 'no values'))),
      el('td', {class: 'n', data: {cell: 'step'}}, count(run.step)),
      el('td', {class: 'n wide', data: {cell: 'tokens'}}, num(run.tokens)),
      el('td', {class: 'wide'}, timeTag(run.updated_ms)));
  }

  function render() {
    for (const run of runs) if (picked.has(run.id)) picked.set(run.id, run);
    if (!runs.length && !search) {
      fill(list, about.kind === 'console' ? empty('No runs yet', 'A run appears here as soon as its metrics file has a line. Type this in a terminal:',
        'tinkc train --metrics metrics.jsonl DATA.jsonl') : empty('No runs yet', 'A run appears here as soon as something trains on this server. Type this in a terminal:',
        'tinkc train --base-url ' + location.origin + ' DATA.jsonl'));
    } else if (!runs.length) {
      fill(list, el('p', {class: 'soft'}, 'No run matches.'));
    } else {
      refill(list, el('div', {class: 'scroll'}, el('table', {class: 'runs'},
        el('caption', {class: 'away'}, 'Training runs, newest activity first'),
        el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, el('span', {class: 'away'}, 'Compare')),
          ['Run', 'State', 'Loss', null, 'Step', 'Tokens', 'Active'].map((text, i) =>
            el('th', {scope: 'col', class: [3, 5, 6].includes(i) ? (i === 5 ? 'n wide' : 'wide') : [2, 4].includes(i) ? 'n' : ''},
              text || 'Curve')))),
        el('tbody', {}, runs.map(row)))),
        total > runs.length && el('p', {}, el('button', {onclick: () => { limit += PAGE; load(); }},
          'Show more (' + count(total - runs.length) + ')')));
    }
    comparison.update();
  }

  async function load() {
    try {
      const answer = await api.runs({limit, search});
      if (!alive()) return;
      runs = answer.runs; total = answer.total;
      render();
    } catch (error) { fail(error); }
    if (about.kind !== 'console') return;
    try {
      const state = (await api.server()).service;
      if (alive() && state) fill(service, serviceLine(state));
    } catch { /* the list is there */ }
  }

  const reload = throttle(1000, () => alive() && load());
  const stop = live((event, data) => {
    // hello: what the service said before the stream began was told to nobody
    if (event === 'run' || event === 'reset' || (about.kind === 'console' && (event === 'server' || event === 'hello'))) reload();
    if (event !== 'step') return;
    const run = runs.find(r => r.id === data.run);
    if (!run) { reload(); return; }
    run.step = data.step ?? run.step;
    run.tokens = data.tokens ?? run.tokens;
    if (Number.isFinite(data.metrics?.loss)) run.loss = data.metrics.loss;
    const line = [...list.querySelectorAll('tr')].find(r => r.dataset.run === run.id);
    for (const cell of line ? line.querySelectorAll('[data-cell]') : [])
      cell.textContent = cell.dataset.cell === 'step' ? count(run.step) : num(run[cell.dataset.cell]);
    comparison.step(data);
  });
  load();
  return () => { stop(); };
}

/* What `tinkc console` says of the service beside its files. */
export function serviceLine(s) {
  const url = visible(s.url || 'the service');
  if (s.state === 'off') return el('p', {class: 'soft', data: {service: 'off'}}, 'Only files are shown, no service is asked: ' + visible(s.text));
  if (s.state === 'asked') return el('p', {class: 'soft', data: {service: 'asked'}}, 'Asking ' + url + '… ' + (s.answered_ms ? many(s.runs_listed, 'run') + ' so far.' : ''));
  if (s.state === 'failed') return el('p', {class: 'bad', role: 'status', data: {service: 'failed'}}, url + ' gave no list: ' + visible(s.text) + '. ' +
    (s.answered_ms ? 'Its runs are as they were ' + ago(s.answered_ms) + '.' : 'Files are shown meanwhile.') + ' It is asked again in half a minute.');
  return el('p', {class: 'soft', data: {service: 'good'}}, 'Files, and ' + (s.runs > s.runs_listed ? 'the newest ' + count(s.runs_listed) + ' of ' + many(s.runs, 'run')
    : many(s.runs, 'run')) + ' of ' + url + ', ', timeTag(s.answered_ms), '.');
}

/* The curves of the runs that are picked. */
function makeComparison(box, picked, alive, clear) {
  let metric = 'loss', by = 'step', weight = 0, log = false, metrics = ['loss'], key = '', zoom = null;
  const data = new Map();
  const view = chart({label: 'Comparison', onZoom: range => { zoom = range; load(); }});
  const legend = el('ul', {class: 'legend'}), controls = el('div', {class: 'row controls'});
  const lines = () => [...picked].filter(([id]) => data.has(id)).map(([id, run], i) =>
    ({...toLine(data.get(id), by, run?.created_ms), name: run?.name || id, color: i}));

  function drawAll() {
    view.set(lines(), {by, log, weight, zoom, xName: axis[by]});
    fill(legend, [...picked].map(([id, run], i) => el('li', {}, el('i', {class: 'dot c' + i % 8}),
      el('a', {href: '#/runs/' + encodeURIComponent(id)}, short(visible(run?.name || id), 40)))));
  }

  function renderControls() {
    refill(controls, el('label', {}, 'Metric ', select(metrics, metric, v => { metric = v; load(); })),
      el('label', {}, 'By ', select(Object.entries(axis), by, v => { by = v; zoom = null; load(); })),
      el('label', {}, 'Smoothing ', el('input', {type: 'range', min: 0, max: 0.99, step: 0.01, value: weight,
        oninput: e => { weight = Number(e.target.value); drawAll(); }})),
      el('label', {}, el('input', {type: 'checkbox', checked: log, onchange: e => { log = e.target.checked; drawAll(); }}), ' Log scale'),
      el('span', {class: 'files'}, zoom && el('button', {class: 'small', onclick: () => { zoom = null; load(); }}, 'Whole range'),
      el('button', {class: 'small', onclick: () => save('compare-' + metric + '.svg', 'image/svg+xml', view.file(metric))}, 'SVG')));
  }

  const load = async () => {
    const now = key;
    try {
      const range = zoom && by !== 'time' ? {from: Math.floor(zoom[0]), to: Math.ceil(zoom[1])} : {};
      const all = await Promise.all([...picked.keys()].map(async id => [id, await api.series(id, {metric, by, ...range})]));
      if (!alive() || now !== key) return;
      data.clear();
      for (const [id, answer] of all) if (answer.series[0]) data.set(id, answer.series[0]);
      renderControls();
      drawAll();
    } catch (error) { if (alive()) note(error.message, 'bad'); }
  };
  const again = throttle(1000, () => alive() && picked.size && load());

  async function names() {
    const all = await Promise.all([...picked.keys()].map(id => api.run(id).catch(() => null)));
    const found = new Set();
    for (const run of all) if (run) {
      picked.set(run.id, run);
      for (const m of run.metrics || []) found.add(m.name);
    }
    metrics = sortMetrics([...found]);
    if (!metrics.includes(metric)) metric = metrics[0] || 'loss';
  }

  return {
    step(event) { if (picked.has(event.run)) again(); },
    async update() {
      const next = [...picked.keys()].join(' ');
      box.hidden = picked.size === 0;
      if (next === key) return;
      key = next;
      if (!box.firstChild) fill(box, el('div', {class: 'row'}, el('h2', {}, 'Comparison'), el('span', {class: 'grow'}),
        el('button', {class: 'small', onclick: () => { picked.clear(); clear(); }}, 'Clear')),
        controls, view.node, legend);
      if (picked.size) { await names(); load(); }
    },
  };
}
