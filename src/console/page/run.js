// One run: curves, where the time goes, checkpoints, how to go on from them.
import {el, fill, refill, num, count, bytes, span, timeTag, when, visible, short, select, save, note, sure, dialog, field,
  copyButton, throttle, empty} from './dom.js';
import {about, api, live} from './api.js';
import {chart} from './chart.js';
import {axis, toLine, append, toCsv, sortMetrics} from './series.js';
import {stateTag} from './runs.js';

const POINTS = 1000;

export function showRun(box, {path, alive, fail, title}) {
  const id = path[1];
  let run = null, by = 'step', weight = 0, log = false, zoom = null, main = [], data = new Map(), timing = new Map();
  const head = el('div', {}), curves = el('section', {class: 'card', 'aria-label': 'Curves'});
  const small = el('section', {'aria-label': 'All metrics', class: 'tiles'});
  const time = el('section', {class: 'card', 'aria-label': 'Throughput'});
  const points = el('section', {class: 'card', 'aria-label': 'Checkpoints'});
  const resume = el('section', {class: 'card', 'aria-label': 'Going on'});
  const controls = el('div', {class: 'row controls'});
  const view = chart({label: 'Curves', onZoom: range => { zoom = range; load(); }});
  fill(box, el('p', {class: 'soft'}, 'Loading…'));

  // ---- head ----

  function renderHead() {
    const name = visible(run.name);
    title(name);
    refill(head, el('p', {class: 'crumbs'}, el('a', {href: '#/runs'}, 'Runs')),
      el('div', {class: 'head'}, el('h1', {}, short(name, 80)), stateTag(run.state), el('span', {class: 'grow'}),
        copyButton(run.id, 'Copy id')),
      el('dl', {class: 'facts'}, [['Model', visible(run.model || '–')], ...(run.service != null ? [['Service', short(visible(run.service), 60)]] : []), ['Rank', run.rank ?? '–'], ['Step', count(run.step)],
        ['Tokens', num(run.tokens)], ['Loss', num(run.loss)], ['Started', timeTag(run.created_ms)], ['Active', timeTag(run.updated_ms)],
        ...Object.entries(run.metadata || {}).slice(0, 12).map(([k, v]) => [visible(k), short(visible(v), 80)])]
        .map(([k, v]) => el('div', {data: {fact: k}}, el('dt', {}, k), el('dd', {}, v)))));
  }

  // ---- curves ----

  const names = () => sortMetrics((run.metrics || []).map(m => m.name));
  const shownLines = () => main.filter(n => data.has(n)).map((n, i) => ({...toLine(data.get(n), by), color: i}));

  function renderControls() {
    const others = names().filter(n => !main.includes(n));
    refill(controls,
      el('label', {}, 'Metric ', select(names(), main[0], v => { main = [v, ...(v === 'loss' && names().includes('eval_loss') ? ['eval_loss'] : [])]; load(); },
        {id: 'metric'})),
      others.length > 0 && el('label', {}, 'with ', select([['', '–'], ...others], '', v => { if (v) { main.push(v); load(); } }, {id: 'metric-more'})),
      el('label', {}, 'By ', select(Object.entries(axis), by, v => { by = v; zoom = null; load(); }, {id: 'by'})),
      el('label', {}, 'Smoothing ', el('input', {type: 'range', id: 'smooth', min: 0, max: 0.99, step: 0.01, value: weight,
        oninput: e => { weight = Number(e.target.value); drawMain(); }})),
      el('label', {}, el('input', {type: 'checkbox', id: 'log', checked: log, onchange: e => { log = e.target.checked; drawMain(); }}), ' Log scale'),
      el('span', {class: 'files'}, zoom && el('button', {class: 'small', id: 'whole', onclick: () => { zoom = null; load(); }}, 'Whole range'),
      el('button', {class: 'small', id: 'csv', onclick: csv}, 'CSV'),
      el('button', {class: 'small', id: 'svg', onclick: () => save(run.name + '-' + main[0] + '.svg', 'image/svg+xml', view.file(visible(run.name)))}, 'SVG')));
  }

  function drawMain() {
    view.set(shownLines(), {by, log, weight, zoom, xName: axis[by], label: main.join(', ')});
    const legend = curves.querySelector('.legend');
    if (legend) fill(legend, main.map((n, i) => el('li', {}, el('i', {class: 'dot c' + i % 8}), visible(n),
      main.length > 1 && el('button', {class: 'plain x', 'aria-label': 'Remove ' + n, onclick: () => { main = main.filter(m => m !== n); load(); }}, '×'))));
  }

  async function csv() {
    try {
      const all = await api.series(id, {metric: main.join(','), points: 4000});
      save(run.name + '-' + main[0] + '.csv', 'text/csv', toCsv(all.series));
    } catch (error) { note(error.message, 'bad'); }
  }

  async function load() {
    if (!main.length) return;
    const range = zoom ? {from: Math.floor(zoom[0]), to: Math.ceil(zoom[1])} : {};
    try {
      const answer = await api.series(id, {metric: main.join(','), by, points: POINTS, ...range});
      if (!alive()) return;
      data = new Map(answer.series.map(s => [s.name, s]));
      renderControls();
      drawMain();
    } catch (error) { if (alive()) note(error.message, 'bad'); }
  }

  // ---- all metrics, and the time ----

  function renderTiles() {
    const tiles = (run.metrics || []).length > 1 ? names() : [];
    refill(small, tiles.map(n => {
      const m = run.metrics.find(x => x.name === n);
      return el('button', {class: 'tile', title: visible(n), 'aria-pressed': String(main.includes(n)), onclick: () => {
        main = main.includes(n) && main.length > 1 ? main.filter(x => x !== n) : main.includes(n) ? main : [n];
        load(); renderTiles();
      }}, el('span', {}, short(visible(n), 32)), el('b', {}, num(m.last)), el('small', {}, num(m.min) + ' – ' + num(m.max)));
    }));
  }

  const total = s => (s ? s.mean.reduce((sum, v, i) => sum + (v || 0) * s.n[i], 0) : 0);

  function renderTime() {
    const seconds = timing.get('seconds'), tokens = timing.get('tokens');
    const forward = total(timing.get('seconds/forward_backward')), optim = total(timing.get('seconds/optim_step'));
    const all = Math.max(total(seconds), forward + optim);
    time.hidden = !all;
    if (!all) return;
    const steps = seconds ? seconds.n.reduce((a, b) => a + b, 0) : 0;
    const parts = [['Forward and backward', forward, 'c0'], ['Optimizer', optim, 'c1'], ['Waiting for the client', Math.max(0, all - forward - optim), 'c5']];
    const bar = el('div', {class: 'stack', role: 'img', 'aria-label': parts.map(([n, v]) => n + ' ' + Math.round(v / all * 100) + ' %').join(', ')});
    for (const [, v, c] of parts) {
      const piece = el('i', {class: c});
      piece.style.width = v / all * 100 + '%';
      bar.append(piece);
    }
    fill(time, el('h2', {}, 'Throughput'), el('dl', {class: 'facts'},
      [['Tokens per second', num(total(tokens) / all)], ['Seconds per step', steps ? num(all / steps) : '–'], ['Training time', span(all * 1000)]]
        .map(([k, v]) => el('div', {}, el('dt', {}, k), el('dd', {}, v)))),
    bar, el('ul', {class: 'legend'}, parts.map(([n, v, c]) => el('li', {}, el('i', {class: 'dot ' + c}), n + ' ' + Math.round(v / all * 100) + ' %'))));
  }

  async function loadTime() {
    try {
      const have = names().filter(n => ['seconds', 'tokens', 'seconds/forward_backward', 'seconds/optim_step'].includes(n));
      if (!have.length) { renderTime(); return; }
      const answer = await api.series(id, {metric: have.join(','), points: 200});
      if (!alive()) return;
      timing = new Map(answer.series.map(s => [s.name, s]));
      renderTime();
    } catch { time.hidden = true; }
  }

  // ---- checkpoints ----

  async function act(work, text) {
    try { await work(); if (text) note(text); await reload(); } catch (error) { note(error.message, 'bad'); }
  }

  async function setTtl(c) {
    const input = el('input', {type: 'number', min: 1, step: 1, value: 24});
    const answer = await dialog('Keep ' + c.id, el('div', {}, field('Hours from now', input)),
      [{label: 'Cancel', value: ''}, {label: 'Keep forever', value: 'forever'}, {label: 'Set', value: 'set', class: 'primary'}]);
    if (answer === 'forever') act(() => api.ttl(id, c.id, null), 'It does not expire.');
    else if (answer === 'set' && Number(input.value) > 0) act(() => api.ttl(id, c.id, Math.round(input.value * 3600)), 'Expires in ' + input.value + ' h.');
  }

  async function remove(c) {
    if (await sure('Delete ' + c.id + '?', 'The weights in it are gone afterwards. This cannot be undone.', 'Delete'))
      act(() => api.remove(id, c.id), 'Deleted.');
  }

  function pointRow(c) {
    return el('tr', {data: {checkpoint: c.id, key: c.id}},
      el('th', {scope: 'row'}, visible(c.id).split('/').map((part, i) => [i > 0 && ['/', el('wbr', {})], part]), el('small', {}, c.kind === 'training' ? 'can be resumed' : 'for sampling', c.public ? ' · public' : '')),
      el('td', {class: 'n'}, c.step ?? '–'), el('td', {class: 'n wide'}, bytes(c.size_bytes)), el('td', {class: 'wide'}, timeTag(c.created_ms)),
      el('td', {class: 'wide', title: c.expires_ms ? when(c.expires_ms) : ''}, c.expires_ms ? timeTag(c.expires_ms) : 'never'),
      el('td', {class: 'acts'},
        copyButton(c.path, 'Copy path'),
        c.kind === 'sampler' && about.kind !== 'console' && el('a', {class: 'button small', href: '#/playground?model=' + encodeURIComponent(c.path)}, 'Try'),
        run.actions && [
          el('button', {class: 'small', onclick: () => act(() => api.publish(id, c.id, !c.public), c.public ? 'Only you can read it.' : 'Everybody can read it.')}, c.public ? 'Unpublish' : 'Publish'),
          el('button', {class: 'small', onclick: () => setTtl(c)}, 'Expiry'),
          el('a', {class: 'button small', href: api.archive(id, c.id), download: true}, 'Download'),
          el('button', {class: 'small danger', onclick: () => remove(c)}, 'Delete')]));
  }

  function renderPoints() {
    const all = run.checkpoints || [];
    refill(points, el('h2', {}, 'Checkpoints'), all.length === 0
      ? el('p', {class: 'soft'}, 'None yet. A run saves with save_state and save_weights_for_sampler; tinkc train does it every 50 steps (--save-every).')
      : el('div', {class: 'scroll'}, el('table', {}, el('caption', {class: 'away'}, 'Checkpoints of this run'),
        el('thead', {}, el('tr', {}, ['Checkpoint', 'Step', 'Size', 'Saved', 'Expires', 'Actions'].map((t, i) =>
          el('th', {scope: 'col', class: i === 1 ? 'n' : i === 2 ? 'n wide' : i === 3 || i === 4 ? 'wide' : ''}, t)))),
        el('tbody', {}, all.map(pointRow)))));
  }

  // ---- going on ----

  let tab = 'Shell';
  function renderResume() {
    const last = (run.checkpoints || []).filter(c => c.kind === 'training').sort((a, b) => b.created_ms - a.created_ms)[0];
    const sampler = (run.checkpoints || []).filter(c => c.kind === 'sampler').sort((a, b) => b.created_ms - a.created_ms)[0];
    resume.hidden = !last && !sampler;
    if (resume.hidden) return;
    const url = run.service || location.origin, quote = t => "'" + t.replaceAll("'", "'\\''") + "'", text = JSON.stringify;
    const code = {
      Shell: [last && '# train on, with other data\ntinkc train --base-url ' + url + ' -m ' + quote(run.model || '') + ' --load ' + quote(last.path) + ' DATA.jsonl',
        sampler && '# talk to it\ntinkc chat --base-url ' + url + ' -m ' + quote(sampler.path)],
      Python: ['import tinker\n\nservice = tinker.ServiceClient(base_url=' + text(url) + ')',
        last && 'training = service.create_training_client_from_state_with_optimizer(' + text(last.path) + ')',
        sampler && 'sampling = service.create_sampling_client(model_path=' + text(sampler.path) + ')'],
      C: [last && 'tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;\noptions.with_optimizer = true;\n' +
          'tinkc_service_create_training_from_state_wait(&training, service,\n    ' + text(last.path) + ',\n    &options, &err);',
        sampler && 'tinkc_service_create_sampling_wait(&sampling, service, NULL,\n    ' + text(sampler.path) + ', NULL, &err);'],
    };
    const now = code[tab].filter(Boolean).join('\n\n');
    refill(resume, el('div', {class: 'row'}, el('h2', {}, 'Go on from here'), el('span', {class: 'grow'}),
      el('div', {class: 'tabs', role: 'group', 'aria-label': 'Language'}, Object.keys(code).map(k =>
        el('button', {class: 'small', 'aria-pressed': String(k === tab), onclick: () => { tab = k; renderResume(); }}, k)))),
    el('div', {class: 'code'}, el('pre', {tabindex: 0}, now), copyButton(now)));
  }

  // ---- together ----

  async function reload() {
    run = await api.run(id);
    if (!alive()) return;
    renderHead(); renderPoints(); renderResume(); renderTiles();
  }

  async function begin() {
    try {
      run = await api.run(id);
      if (!alive()) return;
      const all = names();
      main = all.slice(0, 1);
      if (main[0] === 'loss' && all.includes('eval_loss')) main.push('eval_loss');
      fill(curves, controls, view.node, el('ul', {class: 'legend'}));
      fill(box, head, all.length ? [curves, small, time] : run.service != null ? empty('The service keeps no curves',
        'They are in a file of the program that trains. To see them here, let it write one, and name the file:',
        'tinkc train --metrics metrics.jsonl DATA.jsonl\ntinkc console metrics.jsonl') : empty('No steps yet',
        'The curves appear with the first forward_backward of this run.'), points, resume);
      renderHead(); renderPoints(); renderResume(); renderTiles();
      await Promise.all([load(), loadTime()]);
    } catch (error) { fail(error); }
  }

  const redraw = throttle(120, () => alive() && drawMain());
  const refresh = throttle(2500, async () => {
    if (!alive() || !run) return;
    try {
      const had = (run.metrics || []).length;
      await reload();
      if (!had && run.metrics.length) begin(); else loadTime();
    } catch { /* the next event tries again */ }
  });
  const fact = (name, text) => {
    const node = head.querySelector('[data-fact="' + name + '"] dd');
    if (node) node.textContent = text;
  };
  const stop = live((event, e) => {
    if (event === 'reset') begin();
    if ((event === 'server' || event === 'hello') && run?.service != null) refresh();
    if (e.run !== id || !run) return;
    if (event === 'run') refresh();
    if (event !== 'step') return;
    fact('Step', count(e.step)); fact('Tokens', num(e.tokens));
    if (Number.isFinite(e.metrics?.loss)) fact('Loss', num(e.metrics.loss));
    let grown = 0;
    if (!zoom) for (const n of main) {
      const s = data.get(n);
      if (s && Number.isFinite(e.metrics?.[n])) { append(s, e, e.metrics[n]); grown = Math.max(grown, s.step.length); }
    }
    if (grown > 2 * POINTS) load(); else if (grown) redraw();
    box.dataset.step = e.step;
    refresh();
  });
  begin();
  return stop;
}
