// Talk to a model: chat or plain text, one or two sets of weights, other tokens.
import {el, fill, many, visible, short, span, select, field, note, dialog} from './dom.js';
import {api, post, stream} from './api.js';
import {tokenView, probability} from './tokens.js';

const TOP = 8; // alternatives of a token
const kept = {mode: 'chat', temperature: '0.7', max_tokens: '128', top_p: '1', top_k: '', seed: '', system: ''};

function tokensOf(model, text) {
  return post('/v1/completions', {model, prompt: text, max_tokens: 0, return_token_ids: true, add_special_tokens: false})
    .then(a => a.choices[0].prompt_token_ids);
}

/* Alternatives come with log-probabilities at temperature 1, the sampled token with one at the temperature that it was
 * drawn with. It is among the alternatives, too: known at both, it gives what all of them add up to at its temperature. */
function comparable(all, own) {
  const t = own.temperature, same = all.find(a => a.id === own.id);
  if (!(t > 0) || !Number.isFinite(own.logprob) || !same) return {at: 1, all};
  return {at: t, all: all.map(a => ({...a, logprob: own.logprob + (a.logprob - same.logprob) / t}))};
}

/* The weights that can be named: base models, and checkpoints of the newest runs. */
async function listModels(wanted) {
  const all = new Map();
  if (wanted) all.set(wanted, short(wanted, 70));
  for (const m of (await api.models()).data) if (!m.id.startsWith('tinker://')) all.set(m.id, m.id);
  try {
    const runs = (await api.runs({limit: 20})).runs;
    const details = await Promise.all(runs.map(r => api.run(r.id).catch(() => null)));
    for (const run of details) for (const c of run?.checkpoints || [])
      if (c.kind === 'sampler') all.set(c.path, short(visible(run.name), 40) + ' · ' + visible(c.id.split('/').pop()) + (c.step ? ' · step ' + c.step : ''));
  } catch { /* base models are enough */ }
  return [...all];
}

/* One column: weights, the conversation with them, the answer that is being sampled. */
function pane(models, model, settings) {
  const talk = el('div', {class: 'talk', role: 'log', 'aria-label': 'Conversation'});
  let messages = [], abort = null, busy = false;
  const node = el('section', {class: 'pane card', 'aria-label': 'Model'},
    el('label', {class: 'field'}, el('span', {}, 'Weights'), select(models, model, v => { model = v; })), talk);

  function params() {
    const n = k => (kept[k] === '' ? undefined : Number(kept[k]));
    return {model, temperature: n('temperature'), max_tokens: n('max_tokens'), top_p: n('top_p'), top_k: n('top_k'), seed: n('seed'), return_token_ids: true};
  }

  /* An answer: its tokens, the ids before them, and what may be done with each. */
  function makeAnswer(prompt) {
    const a = {prompt, tokens: [], alternatives: null, asked: false, model, content: ''};
    a.view = tokenView({label: 'Answer', onPick: i => other(a, i), more: (i, again) => alternatives(a, i, again)});
    a.view.draw(a.tokens, 'logprob');
    a.state = el('small', {class: 'soft'});
    a.node = el('article', {class: 'said-by model'}, el('h2', {class: 'minor'}, 'Model'), a.view.node, a.state);
    talk.append(a.node);
    return a;
  }

  function take(a, choice) {
    const ids = choice.token_ids || [], content = choice.logprobs?.content, plain = choice.logprobs;
    ids.forEach((id, i) => a.view.push({id, text: content ? content[i]?.token ?? '' : plain?.tokens?.[i] ?? '',
      logprob: content ? content[i]?.logprob : plain?.token_logprobs?.[i], temperature: a.temperature}));
    a.content += choice.delta?.content ?? choice.text ?? '';
  }

  async function run(a, path, body) {
    a.temperature = body.temperature > 0 ? body.temperature : 1; // 0 takes the likeliest, and tells its log-probability at 1
    abort = new AbortController();
    busy = true;
    settings.changed();
    let end = '';
    const began = performance.now(), had = a.tokens.length;
    try {
      await stream(path, body, event => {
        if (event.prompt_token_ids) a.prompt = event.prompt_token_ids;
        for (const choice of event.choices || []) {
          take(a, choice);
          if (choice.finish_reason) end = choice.finish_reason;
        }
      }, abort.signal);
    } catch (error) {
      end = error.name === 'AbortError' ? 'stopped' : error.message;
    }
    const n = a.tokens.length - had;
    a.state.textContent = many(n, 'token') + ' in ' + span(performance.now() - began) + ' · ' + end;
    a.node.dataset.done = 'true';
    busy = false;
    settings.changed();
  }

  /* Asks once for the alternatives of all tokens of an answer. */
  function alternatives(a, i, again) {
    if (!a.asked && !busy && a.prompt && a.tokens.length) {
      a.asked = true;
      const ids = [...a.prompt, ...a.tokens.map(t => t.id)];
      post('/v1/completions', {model: a.model, prompt: ids, prompt_logprobs: TOP, max_tokens: 0}).then(answer => {
        a.alternatives = answer.choices[0].prompt_logprobs.slice(a.prompt.length).map(p => Object.entries(p || {})
          .map(([id, t]) => ({id: Number(id), text: t.decoded_token ?? '', logprob: t.logprob})).sort((x, y) => y.logprob - x.logprob));
        again();
      }).catch(() => { a.alternatives = []; });
    }
    if (!a.alternatives?.[i]) return null;
    const {at, all} = comparable(a.alternatives[i], a.tokens[i]);
    return el('span', {class: 'others'}, el('small', {class: 'at'}, 'at temperature ' + at + ': '), all.filter((t, k) => k < TOP || t.id === a.tokens[i].id).map(t => el('span', {class: t.id === a.tokens[i].id ? 'own' : ''},
      el('code', {}, JSON.stringify(visible(t.text))), ' ' + probability(t.logprob))));
  }

  /* Another token, or another text, at this place; the rest is sampled again. */
  async function other(a, i) {
    if (busy || !a.prompt) return;
    const input = el('input', {type: 'text', value: a.tokens[i].text, 'aria-label': 'Text from here'});
    const {at, all: rows} = comparable(a.alternatives?.[i] || [], a.tokens[i]);
    const choice = await dialog('Go on from token ' + (i + 1), el('div', {}, el('p', {}, 'Keep what is before, and put here' + (rows.length ? ' (likely at temperature ' + at + '):' : ':')),
      el('div', {class: 'choices'}, rows.map(t => el('button', {class: 'small', onclick: e => { e.target.closest('dialog').close('id ' + t.id); }},
        visible(t.text) + '  ' + probability(t.logprob)))), field('Text', input)),
    [{label: 'Cancel', value: ''}, {label: 'Continue', value: 'text', class: 'primary'}]);
    if (!choice) return;
    try {
      let put;
      if (choice === 'text') put = input.value === a.tokens[i].text ? [a.tokens[i]] : (await tokensOf(a.model, input.value)).map(id => ({id}));
      else put = [{...rows.find(t => 'id ' + t.id === choice), temperature: at}];
      if (put.some(t => t.text === undefined)) {
        const text = (await api.decode(a.model, put.map(t => t.id))).text;
        put = put.map((t, k) => ({...t, text: text[k]}));
      }
      const before = a.tokens.slice(0, i).concat(put);
      a.tokens = before;
      a.alternatives = null;
      a.asked = false;
      a.view.draw(a.tokens, 'logprob');
      await run(a, '/v1/completions', {...params(), model: a.model, prompt: [...a.prompt, ...a.tokens.map(t => t.id)], logprobs: 0});
      const own = messages.find(m => m.answer === a);
      if (own) own.content = a.tokens.map(t => t.text).join('').replace(/<\|[^|]*\|>$/, '');
    } catch (error) { note(error.message, 'bad'); }
  }

  function addSaid(role, text) {
    talk.append(el('article', {class: 'said-by user'}, el('h2', {class: 'minor'}, role), el('div', {class: 'said', dir: 'auto'}, visible(text))));
  }

  return {node,
    get busy() { return busy; },
    async send(text) {
      if (kept.mode === 'chat') {
        messages.push({role: 'user', content: text});
        addSaid('You', text);
        const a = makeAnswer(null);
        const system = kept.system ? [{role: 'system', content: kept.system}] : [];
        await run(a, '/v1/chat/completions', {...params(), logprobs: true, messages: [...system, ...messages.map(({role, content}) => ({role, content}))]});
        messages.push({role: 'assistant', content: a.content, answer: a});
      } else {
        addSaid('Text', text);
        const a = makeAnswer(null);
        try { a.prompt = await tokensOf(model, text); } catch (error) { a.state.textContent = error.message; return; }
        await run(a, '/v1/completions', {...params(), prompt: a.prompt, logprobs: 0});
      }
      talk.scrollTop = talk.scrollHeight;
    },
    stop() { abort?.abort(); },
    clear() { abort?.abort(); messages = []; fill(talk); },
  };
}

export function showPlayground(box, {query, alive, fail, title}) {
  title('Playground');
  let panes = [], models = [];
  const grid = el('div', {class: 'panes'}), text = el('textarea', {rows: 3, 'aria-label': 'Text', id: 'say'});
  const sendButton = el('button', {class: 'primary', id: 'send'}, 'Send'), stopButton = el('button', {id: 'stop', hidden: true, onclick: () => panes.forEach(p => p.stop())}, 'Stop');
  const settings = {changed() {
    const busy = panes.some(p => p.busy);
    stopButton.hidden = !busy;
    sendButton.disabled = busy;
  }};
  const number = (label, key, props, hint) => field(label, el('input', {type: 'number', value: kept[key], ...props, oninput: e => { kept[key] = e.target.value; }}), hint);
  const system = el('div', {});

  function setMode(mode) {
    kept.mode = mode;
    text.placeholder = mode === 'chat' ? 'Say something; Enter sends, Shift+Enter begins a line' : 'Text to continue; Ctrl+Enter sends';
    fill(system, mode === 'chat' && field('System prompt', el('textarea', {rows: 2, value: kept.system, oninput: e => { kept.system = e.target.value; }})));
    for (const p of panes) p.clear();
  }

  function addPane(model) {
    const p = pane(models, model, settings);
    panes.push(p);
    grid.append(p.node);
    grid.classList.toggle('two', panes.length > 1);
  }

  const two = el('button', {class: 'small', id: 'two', 'aria-pressed': 'false', onclick: () => {
    if (panes.length > 1) { panes.pop().node.remove(); grid.classList.remove('two'); } else addPane(models[Math.min(1, models.length - 1)][0]);
    two.setAttribute('aria-pressed', String(panes.length > 1));
  }}, 'Two side by side');

  async function say() {
    const words = text.value;
    if (!words.trim() || !panes.length || panes.some(p => p.busy)) return;
    if (kept.mode === 'chat') text.value = '';
    await Promise.all(panes.map(p => p.send(words)));
  }
  sendButton.addEventListener('click', say);
  text.addEventListener('keydown', e => {
    if (e.key === 'Enter' && !e.isComposing && (kept.mode === 'chat' ? !e.shiftKey : e.ctrlKey || e.metaKey)) { e.preventDefault(); say(); }
  });

  fill(box, el('div', {class: 'head'}, el('h1', {}, 'Playground'),
    el('label', {}, el('span', {class: 'away'}, 'Kind '), select([['chat', 'Chat'], ['text', 'Plain text']], kept.mode, setMode, {id: 'mode'})),
    el('span', {class: 'grow'}), two, el('button', {class: 'small', id: 'clear', onclick: () => panes.forEach(p => p.clear())}, 'Clear')),
  el('details', {class: 'card params'}, el('summary', {}, 'Parameters'), el('div', {class: 'fields'},
    number('Temperature', 'temperature', {min: 0, max: 2, step: 0.1}), number('Tokens at most', 'max_tokens', {min: 1, step: 1}),
    number('Top-p', 'top_p', {min: 0, max: 1, step: 0.05}), number('Top-k', 'top_k', {min: 1, step: 1}, 'empty: all'),
    number('Seed', 'seed', {step: 1}, 'empty: another each time')), system),
  grid, el('div', {class: 'say'}, text, el('div', {class: 'row'}, sendButton, stopButton,
    el('small', {class: 'soft'}, 'Point at a token to see what else was likely; click it to go on from there.'))));
  (async () => {
    try {
      const wanted = query.get('model');
      models = await listModels(wanted);
      if (!alive()) return;
      if (!models.length) throw new Error('The server serves no model.');
      addPane(wanted || models[0][0]);
      setMode(kept.mode);
      text.focus();
    } catch (error) { fail(error); }
  })();
  return () => panes.forEach(p => p.stop());
}
