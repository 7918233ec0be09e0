// Samples and episodes as text.
import {el, fill, refill, num, count, many, timeTag, when, visible, short, shortId, longText, empty, debounce, throttle, select, note, sure} from './dom.js';
import {about, api, live, post} from './api.js';
import {tokenView, tokenLegend, colorings} from './tokens.js';

const PAGE = 50;
let coloring = 'logprob';

/* Where the model is not served any more, the ids stand for the texts. */
const toTokens = (part, mask) => part.ids.map((id, i) => ({id, text: part.text ? part.text[i] ?? '' : '⟨' + id + '⟩', logprob: part.logprobs ? part.logprobs[i] : undefined, mask}));

/* Log-probabilities of ids under other weights: one for each id, the first null. */
async function rescore(model, ids) {
  const answer = await post('/v1/completions', {model, prompt: ids, prompt_logprobs: 0, max_tokens: 0});
  return answer.choices[0].prompt_logprobs.map((p, i) => (p ? p[ids[i]]?.logprob ?? null : null));
}

export function showRollouts(box, {path, query, alive, fail, title}) {
  title('Rollouts');
  const isFiles = about.kind === 'console', isEpisodes = path[1] === 'episodes' || isFiles;
  const list = el('div', {class: 'list'}), detail = el('div', {class: 'detail'});
  const tab = (text, href, on) => el('a', {href, 'aria-current': on ? 'page' : null}, text);
  const search = el('input', {type: 'search', placeholder: isEpisodes ? 'Search names' : 'Search outputs', 'aria-label': 'Search'});
  fill(box, el('div', {class: 'head'}, el('h1', {}, 'Rollouts'),
    !isFiles && el('nav', {class: 'tabs', 'aria-label': 'Kinds of rollouts'}, tab('Samples', '#/rollouts', !isEpisodes), tab('Episodes', '#/rollouts/episodes', isEpisodes)),
    el('span', {class: 'grow'}), search),
  el('div', {class: 'split'}, el('section', {'aria-label': isEpisodes ? 'Episodes' : 'Samples'}, list), el('section', {'aria-label': 'Rollout'}, detail)));
  const frame = {list, detail, search, alive, fail, query};
  return isEpisodes ? episodes(frame, path[2]) : samples(frame, path[1], path[2]);
}

function choose(list, key) {
  list.dataset.at = key;
  for (const a of list.querySelectorAll('a')) {
    if (a.dataset.key === key) a.setAttribute('aria-current', 'true'); else a.removeAttribute('aria-current');
  }
}

/* A link of a list: opens its rollout beside the list, without reading the list again. */
function item(key, href, onopen, ...children) {
  return el('li', {}, el('a', {href, data: {key}, onclick: e => {
    if (e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    history.pushState(null, '', href);
    onopen();
  }}, children));
}

// ---- samples ----

function samples({list, detail, search, alive, fail, query}, kind, first) {
  let rows = [], next = null, text = '', recording = true, fresh = 0, opened = 0;
  const run = query.get('run');

  function render() {
    if (!rows.length && !text) {
      fill(list, recording ? empty('No samples yet', 'What the server samples appears here. Type this in a terminal:',
        'tinkc sample --base-url ' + location.origin + ' "Hello"') : empty('Samples are not recorded', 'The server was started with --no-samples or --no-recording, or its disk takes no recordings: then the page Server has a warning.'));
      return;
    }
    refill(list, fresh > 0 && el('p', {}, el('button', {class: 'small', onclick: () => load()}, fresh + ' new')),
      !rows.length && el('p', {class: 'soft'}, next ? 'Nothing found yet.' : 'No sample matches.'),
      el('ul', {class: 'items'}, rows.map(s => item('s' + s.id, '#/rollouts/samples/' + s.id, () => open(s.id),
        el('span', {class: 'text'}, short(visible(s.text || '(empty)'), 140)),
        el('small', {title: s.model}, short(visible((s.path ? 'tuned ' : '') + (s.model || '').split('/').pop()), 24) + ' · ' + many(s.tokens, 'token') + ' · ' + num(s.mean_logprob) + ' · ', timeTag(s.time_ms))))),
      next !== null && el('p', {}, el('button', {class: 'small', onclick: () => load(next)}, text ? 'Search further' : 'Show more')),
      rows.length > 0 && el('p', {}, el('button', {class: 'small danger', onclick: forgetAll}, 'Delete all samples')));
    choose(list, list.dataset.at);
  }

  async function load(before) {
    try {
      const answer = await api.samples({limit: PAGE, before, search: text, run});
      if (!alive()) return;
      rows = before ? rows.concat(answer.samples) : answer.samples;
      next = answer.more ? answer.next : null;
      recording = answer.recording !== false;
      fresh = before ? fresh : 0;
      render();
      if (!detail.firstChild && !first && !opened && rows.length && innerWidth > 900) open(rows[0].id);
    } catch (error) { fail(error); }
  }

  async function forgetAll() {
    if (!await sure('Delete all samples?', 'Texts and log-probabilities are gone afterwards; runs and checkpoints stay.', 'Delete')) return;
    try { const n = await api.forget(); note(n.deleted + ' deleted.'); fill(detail); opened = 0; load(); } catch (error) { note(error.message, 'bad'); }
  }

  async function open(id) {
    const turn = ++opened;
    choose(list, 's' + id);
    try {
      const s = await api.sample(id);
      if (alive() && turn === opened) { fill(detail, sampleView(s, () => { fill(detail); opened = 0; load(); }, openGroup)); focusNarrow(detail); }
    } catch (error) { if (alive()) fill(detail, el('p', {class: 'bad', role: 'alert'}, error.message)); }
  }

  async function openGroup(group) {
    const turn = ++opened;
    try {
      const answer = await api.samples({group});
      const all = await Promise.all(answer.samples.slice(0, 16).map(s => api.sample(s.id)));
      if (!alive() || turn !== opened) return;
      fill(detail, el('h2', {}, 'Group of ' + answer.samples.length), el('p', {class: 'soft'}, 'Sequences of one request, side by side.'),
        coloringChoice(() => openGroup(group)), el('div', {class: 'side'}, all.map(s => {
          const view = tokenView({label: 'Output ' + s.id});
          view.draw(toTokens(s.output), coloring);
          return el('article', {class: 'card'}, el('h3', {}, el('a', {href: '#/rollouts/samples/' + s.id}, 'Sample ' + s.id)),
            el('p', {class: 'soft'}, many(s.tokens, 'token') + ' · mean ' + num(s.mean_logprob) + ' · ' + visible(s.stop || '')), view.node);
        })));
      focusNarrow(detail);
    } catch (error) { if (alive()) fill(detail, el('p', {class: 'bad', role: 'alert'}, error.message)); }
  }

  search.addEventListener('input', debounce(300, () => { text = search.value; load(); }));
  const show = throttle(1000, () => { if (!alive()) return; if (rows.length) render(); else load(); });
  const stop = live((event, data) => {
    if (event === 'reset') load();
    if (event === 'sample') { fresh += data.n || 1; show(); }
  });
  load().then(() => {
    if (!alive()) return;
    if (kind === 'samples' && first) open(Number(first));
    if (kind === 'group' && first) openGroup(Number(first));
  });
  return stop;
}

function focusNarrow(detail) {
  if (innerWidth <= 900) detail.scrollIntoView({block: 'start'});
}

function coloringChoice(again) {
  return el('div', {class: 'row controls'}, el('label', {}, 'Colour by ', select(Object.entries(colorings).filter(([k]) => k !== 'gap' || again.gap), coloring,
    v => { coloring = v; again(); }, {class: 'coloring'})), tokenLegend(coloring));
}

function facts(rows) {
  return el('dl', {class: 'facts'}, rows.filter(r => r[1] !== null && r[1] !== undefined).map(([k, v]) => el('div', {}, el('dt', {}, k), el('dd', {}, v))));
}

/* The choice of weights to compare log-probabilities with. */
function gapChoice(models, onScores) {
  const pick = select([['', 'choose weights…'], ...models.filter(Boolean).map(m => [m, short(visible(m), 60)])], '', async model => {
    if (!model) return;
    try { onScores(model); } catch (error) { note(error.message, 'bad'); }
  });
  return el('label', {class: 'gap'}, 'Gap to ', pick);
}

async function weightsOf(run, own) {
  const models = new Set([own]);
  try { for (const m of (await api.models()).data) models.add(m.id); } catch { /* not there */ }
  if (run) try { for (const c of (await api.run(run)).checkpoints) if (c.kind === 'sampler') models.add(c.path); } catch { /* gone */ }
  return [...models];
}

function sampleView(s, onGone, openGroup) {
  const prompt = toTokens(s.prompt, 0), output = toTokens(s.output, 1);
  const a = tokenView({label: 'Prompt'}), b = tokenView({label: 'Output'});
  const tools = el('div', {}), gap = el('span', {});
  const again = () => {
    a.draw(prompt, coloring === 'mask' ? 'mask' : 'none');
    b.draw(output, coloring);
    fill(tools, coloringChoice(again));
    if (coloring === 'gap' && !output.some(t => Number.isFinite(t.gap))) askGap();
  };
  again.gap = true;
  async function askGap() {
    const models = await weightsOf(s.run, s.path || s.model);
    fill(gap, gapChoice(models, async model => {
      try {
        const scores = await rescore(model, [...s.prompt.ids, ...s.output.ids]);
        output.forEach((t, i) => {
          const now = scores[prompt.length + i];
          t.gap = Number.isFinite(now) && Number.isFinite(t.logprob) ? now - t.logprob : undefined;
        });
        again();
        const known = output.filter(t => Number.isFinite(t.gap));
        note('Mean gap ' + num(known.reduce((x, t) => x + t.gap, 0) / Math.max(1, known.length)));
      } catch (error) { note(error.message, 'bad'); }
    }));
  }
  again();
  return [el('div', {class: 'row'}, el('h2', {}, 'Sample ' + s.id), el('span', {class: 'grow'}),
    el('button', {class: 'small', onclick: () => { history.pushState(null, '', '#/rollouts/group/' + s.group); openGroup(s.group); }}, 'Its group side by side'),
    el('button', {class: 'small danger', onclick: async () => {
      if (await sure('Delete sample ' + s.id + '?', 'Its text is gone afterwards.', 'Delete'))
        try { await api.forget(s.id); note('Deleted.'); onGone(); } catch (error) { note(error.message, 'bad'); }
    }}, 'Delete')),
  facts([['Model', visible(s.model || '–')], ['Weights', s.path ? short(visible(s.path), 60) : null],
    ['Run', s.run ? el('a', {href: '#/runs/' + encodeURIComponent(s.run)}, shortId(s.run)) : null], ['Tokens', s.prompt_tokens + ' + ' + s.tokens],
    ['Mean log-probability', num(s.mean_logprob)], ['Ended by', visible(s.stop || '–')], ['Time', when(s.time_ms)]]),
  tools, gap, el('h3', {}, 'Prompt'), a.node, el('h3', {}, 'Output'), b.node];
}

// ---- episodes ----

function histogram(h, range, onPick) {
  if (!h || !h.counts.length) return null;
  const most = Math.max(...h.counts, 1), width = (h.max - h.min) / h.counts.length || 1;
  return el('div', {class: 'histogram', role: 'group', 'aria-label': 'Rewards'}, h.counts.map((n, i) => {
    const low = h.min + i * width, high = i === h.counts.length - 1 ? h.max : low + width;
    const bar = el('i', {});
    bar.style.height = n ? Math.max(4, n / most * 100) + '%' : '0';
    const on = range && Math.abs(range[0] - low) < 1e-9;
    return el('button', {class: 'bin', 'aria-pressed': String(!!on), disabled: !n, title: num(low) + ' to ' + num(high) + ': ' + n,
      'aria-label': n + ' episodes with a reward from ' + num(low) + ' to ' + num(high), onclick: () => onPick(on ? null : [low, high])}, bar);
  }), el('div', {class: 'row ends'}, el('span', {}, num(h.min)), el('span', {class: 'grow'}), el('span', {}, num(h.max))));
}

function episodes({list, detail, search, alive, fail}, first) {
  let rows = [], range = null, offset = 0, more = false, total = 0, bars = null, text = '', opened = 0;
  function render() {
    if (!total && !bars) {
      fill(list, about.kind === 'console' ? empty('No rollouts yet', 'A run of tinkc rl keeps some episodes of each step. Type this in a terminal:',
        'tinkc rl --help') : empty('No episodes yet', 'An agent that talks to /e/NAME/v1 of this server leaves one. Type this in a terminal:',
        'OPENAI_BASE_URL=' + location.origin + '/e/task-1/v1 python3 agent.py'));
      return;
    }
    const found = rows.filter(e => !text || e.id.toLowerCase().includes(text.toLowerCase()));
    refill(list, bars && el('h2', {class: 'minor'}, 'Reward'), histogram(bars, range, r => { range = r; load(0); }),
      el('p', {class: 'soft'}, many(total, 'episode') + (range ? ' with a reward from ' + num(range[0]) + ' to ' + num(range[1]) : '')),
      el('ul', {class: 'items'}, found.map(e => item('e' + e.id, '#/rollouts/episodes/' + encodeURIComponent(e.id), () => open(e.id),
        el('span', {class: 'text'}, short(visible(e.id), 60)), el('b', {class: 'reward'}, Number.isFinite(e.reward) ? num(e.reward) : ''),
        el('small', {}, many(e.turns, 'turn') + ' · ', timeTag(e.used_ms))))),
      more && el('p', {}, el('button', {class: 'small', onclick: () => load(offset)}, 'Show more')));
    choose(list, list.dataset.at);
  }
  async function load(from) {
    try {
      const answer = await api.episodes({limit: 200, before: from || undefined, min: range?.[0], max: range?.[1]});
      if (!alive()) return;
      rows = from ? rows.concat(answer.episodes) : answer.episodes;
      offset = rows.length; more = answer.more; total = answer.total;
      bars = answer.histogram;
      render();
      if (!detail.firstChild && !opened && rows.length && innerWidth > 900 && !first) open(rows[0].id);
    } catch (error) { fail(error); }
  }
  async function open(name) {
    const turn = ++opened;
    choose(list, 'e' + name);
    try {
      const e = await api.episode(name);
      if (!alive() || turn !== opened) return;
      fill(detail, episodeView(e, () => { fill(detail); opened = 0; load(0); }));
      focusNarrow(detail);
    } catch (error) { if (alive()) fill(detail, el('p', {class: 'bad', role: 'alert'}, error.message)); }
  }
  search.addEventListener('input', () => { text = search.value; render(); });
  const again = throttle(1500, () => alive() && load(0));
  const stop = live(event => { if (event === 'episode' || event === 'reset') again(); });
  load(0).then(() => first && alive() && open(first));
  return stop;
}

/* The turns of an episode as a tree, and its sequences as tokens. */
function episodeView(e, onGone) {
  const turns = e.turns || [], sequences = e.sequences || [], deep = new Map();
  for (const t of turns) deep.set(t.turn, t.parent >= 0 && deep.has(t.parent) ? deep.get(t.parent) + (t.origin === 'branch' ? 1 : 0) : t.origin === 'branch' ? 1 : 0);
  const tree = el('ol', {class: 'turns'}, turns.map(t => {
    const message = t.message || {};
    const row = el('li', {class: 'turn d' + Math.min(4, deep.get(t.turn))},
      el('div', {class: 'row'}, el('b', {}, 'Turn ' + t.turn), t.origin === 'branch' && el('span', {class: 'tag', title: t.why || ''}, 'branch'),
        el('small', {}, t.prompt_tokens + ' + ' + t.sampled_tokens + ' tokens · ' + visible(t.finish || '') + ' · ' + short(visible(t.weights || ''), 40)),
        el('span', {class: 'grow'}), Number.isFinite(t.reward) && el('b', {class: 'reward'}, num(t.reward))),
      t.origin === 'branch' && t.why && el('p', {class: 'soft'}, visible(t.why)),
      message.reasoning_content && el('details', {}, el('summary', {}, 'Reasoning'), longText(message.reasoning_content, {class: 'said'})),
      message.content && longText(typeof message.content === 'string' ? message.content : JSON.stringify(message.content), {class: 'said'}),
      (message.tool_calls || []).map(c => el('div', {class: 'call'}, el('b', {}, visible(c.function?.name || c.name || 'tool')), ' ',
        longText(typeof c.function?.arguments === 'string' ? c.function.arguments : JSON.stringify(c.function?.arguments ?? c), {class: 'arguments'}))));
    return row;
  }));
  const body = el('div', {});
  async function showSequence(i) {
    const q = sequences[i];
    if (!q) { fill(body); return; }
    const view = tokenView({label: 'Sequence ' + i}), tools = el('div', {}), gap = el('span', {});
    const tokens = q.tokens.map((id, k) => ({id, text: '·', logprob: q.mask[k] ? q.logprobs[k] : undefined, mask: q.mask[k]}));
    const again = () => { view.draw(tokens, coloring); fill(tools, coloringChoice(again)); fill(gap, coloring === 'gap' && choice); };
    again.gap = true;
    const models = [...new Set([...(q.weights || []), ...turns.map(t => t.model)])];
    const choice = gapChoice(models, async model => {
      try {
        const scores = await rescore(model, q.tokens);
        tokens.forEach((t, k) => { t.gap = t.mask && Number.isFinite(scores[k]) ? scores[k] - t.logprob : undefined; });
        again();
      } catch (error) { note(error.message, 'bad'); }
    });
    fill(body, el('div', {class: 'row'}, el('h3', {}, 'Tokens'), sequences.length > 1 && el('label', {}, 'Sequence ', select(sequences.map((x, k) =>
      [String(k), 'turns ' + (x.turns || []).join(', ')]), String(i), v => showSequence(Number(v))))), tools, gap, view.node);
    again();
    if (about.kind === 'console') return;
    try {
      const answer = await api.decode(turns[0]?.model || q.weights?.[0], q.tokens);
      answer.text.forEach((t, k) => { if (tokens[k]) tokens[k].text = t; });
      again();
    } catch (error) { note(error.message, 'bad'); }
  }
  showSequence(0);
  return [el('div', {class: 'row'}, el('h2', {}, short(visible(e.id), 80)), el('span', {class: 'grow'}),
    about.kind !== 'console' && el('button', {class: 'small danger', onclick: async () => {
      if (await sure('Delete ' + e.id + '?', 'The episode, its tokens and its reward are gone afterwards.', 'Delete'))
        try { await api.forgetEpisode(e.id); note('Deleted.'); onGone(); } catch (error) { note(error.message, 'bad'); }
    }}, 'Delete')),
  facts([['Reward', Number.isFinite(e.reward) ? num(e.reward) : '–'], ['Turns', turns.length], ['Sequences', sequences.length],
    ['Branches', turns.filter(t => t.origin === 'branch').length], ['Metadata', e.metadata ? short(visible(JSON.stringify(e.metadata)), 120) : null]]),
  el('h3', {}, 'Turns'), tree, body, (e.texts || []).map(t => [el('h3', {}, 'What the model read and wrote'),
    longText(t, {class: 'tokens', tabindex: 0})])];
}
