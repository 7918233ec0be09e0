// Tokens as text: each in a span of its own, coloured by what is asked for.
import {el, fill, num, visible} from './dom.js';

const FIRST = 3000; // tokens that are drawn at once

export const colorings = {logprob: 'log-probability', gap: 'gap', mask: 'mask', none: 'no colour'};

/* The class of a token. Log-probabilities: 0 is certain, 6 a surprise. */
function shade(t, by) {
  if (by === 'mask') return t.mask === undefined ? '' : t.mask ? 'm1' : 'm0';
  if (by === 'gap') {
    if (!Number.isFinite(t.gap)) return '';
    const size = Math.min(4, Math.ceil(Math.log2(1 + Math.abs(t.gap) * 20)));
    return size ? (t.gap < 0 ? 'gn' : 'gp') + size : '';
  }
  if (by !== 'logprob' || !Number.isFinite(t.logprob) || t.mask === 0) return '';
  const level = Math.min(6, Math.floor(-t.logprob / 0.7 + 0.3));
  return level > 0 ? 'lp' + level : '';
}

export function probability(logprob) {
  if (!Number.isFinite(logprob)) return '–';
  const p = Math.exp(logprob) * 100;
  return (p >= 99.95 ? '100' : p >= 10 ? p.toFixed(1) : p >= 0.01 ? p.toPrecision(2) : p.toExponential(0).replace('-', '−')) + ' %';
}

export function tokenText(text) {
  return text === '' ? '␣' : visible(text).replace(/\n/g, '↵\n');
}

function about(t) {
  return [el('code', {}, JSON.stringify(visible(t.text ?? ''))), t.id !== undefined && el('span', {}, 'id ' + t.id),
    Number.isFinite(t.logprob) && t.mask !== 0 && el('span', {}, probability(t.logprob) + ' (' + num(t.logprob) + ')' +
      (t.temperature !== undefined ? ' at temperature ' + t.temperature : '')),
    Number.isFinite(t.gap) && el('span', {}, 'gap ' + num(t.gap)), t.mask !== undefined && el('span', {}, t.mask ? 'sampled' : 'prompt')];
}

/* A text of tokens: {text, id, logprob, mask, gap}. `onPick(index, node)` makes them buttons; `more(index)` adds to what
 * is said about a token. Returns {node, draw(tokens, by), push(token)}. */
export function tokenView({label, onPick, more}) {
  let tokens = [], by = 'logprob', at = -1, limit = FIRST;
  const text = el('div', {class: 'tokens', tabindex: 0, role: 'group', 'aria-label': label || 'Tokens', dir: 'ltr'});
  const said = el('div', {class: 'token-info', 'aria-live': 'polite'});
  const rest = el('p', {});
  const node = el('div', {class: 'token-view'}, text, rest, said);

  function make(t, i) {
    const s = el('span', {class: 'tok ' + shade(t, by), 'data-i': i}, t.text === '' ? '' : visible(t.text));
    return s;
  }

  function rests() {
    fill(rest, tokens.length > limit && el('button', {class: 'small', onclick: () => { limit += 10 * FIRST; drawAll(); }},
      'Show ' + Math.min(10 * FIRST, tokens.length - limit) + ' more tokens'));
  }

  function drawAll() {
    const all = document.createDocumentFragment();
    tokens.slice(0, limit).forEach((t, i) => all.append(make(t, i)));
    text.replaceChildren(all);
    rests();
  }

  function point(i) {
    text.children[at]?.classList.remove('at');
    at = i;
    if (i < 0 || i >= Math.min(tokens.length, limit)) { fill(said); return; }
    text.children[i].classList.add('at');
    fill(said, about(tokens[i]), more && more(i, () => at === i && point(i)));
  }

  const index = e => Number(e.target.closest?.('.tok')?.dataset.i ?? -1);
  text.addEventListener('pointerover', e => { const i = index(e); if (i >= 0) point(i); });
  text.addEventListener('click', e => { const i = index(e); if (i >= 0) { point(i); if (onPick) onPick(i); } });
  text.addEventListener('keydown', e => {
    if (e.key === 'ArrowRight') point(Math.min(Math.min(tokens.length, limit) - 1, at + 1));
    else if (e.key === 'ArrowLeft') point(Math.max(0, at - 1));
    else if (e.key === 'Enter' && onPick && at >= 0) onPick(at);
    else return;
    e.preventDefault();
  });

  return {node,
    draw(next, coloring) { tokens = next; by = coloring || by; point(-1); drawAll(); },
    push(t) {
      tokens.push(t);
      if (tokens.length <= limit) text.append(make(t, tokens.length - 1)); else rests();
    },
    update() { const i = at; drawAll(); point(i); },
  };
}

/* What the colours mean. */
export function tokenLegend(by) {
  const scale = {
    logprob: [['', 'certain'], ['lp2', '25 %'], ['lp4', '6 %'], ['lp6', 'under 1.5 %']],
    gap: [['gn4', 'less likely now'], ['gn2', ''], ['', 'equal'], ['gp2', ''], ['gp4', 'more likely now']],
    mask: [['m0', 'prompt'], ['m1', 'sampled, trained on']], none: []}[by] || [];
  return el('p', {class: 'scale'}, scale.map(([c, t]) => [el('span', {class: 'tok ' + c}, ' ' + (t || '\u00a0') + ' '), ' ']));
}
