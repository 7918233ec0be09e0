// Elements, numbers and small dialogs. Every text goes through text nodes and attributes;
// nothing here or elsewhere parses HTML.

/* Makes an element: el('p', {class: 'x', onclick: f, 'aria-label': 'y'}, 'text', child, [more]). */
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'class') node.className = value;
    else if (key === 'value' || key === 'checked' || key === 'disabled' || key === 'selected') node[key] = value;
    else if (key === 'data') Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  add(node, children);
  return node;
}

export function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

const able = node => [...node.querySelectorAll('a[href], button, input, select, textarea, [tabindex]')];
const sign = node => (node.closest('[data-key]')?.dataset.key || '') + node.tagName + (node.getAttribute('aria-label') || node.textContent);

/* As fill, for what changes while somebody works with it: the focus stays where it was. */
export function refill(node, ...children) {
  const at = able(node).indexOf(document.activeElement), own = at >= 0 && sign(document.activeElement);
  fill(node, children);
  if (at < 0) return node;
  const now = able(node);
  (now[at] && sign(now[at]) === own ? now[at] : now.find(n => sign(n) === own))?.focus({preventScroll: true});
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, props, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  return add(node, children);
}

// ---- numbers and times ----

const compact = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']];

/* A number as people read it: four digits that count. */
export function num(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (Number.isInteger(value) && size < 1e4) return String(value);
  for (const [unit, letter] of compact) {
    if (size >= unit || (unit === 1e4 && size >= 1e4)) {
      const scale = unit === 1e4 ? 1e3 : unit;
      return Number((value / scale).toPrecision(3)) + ' ' + letter;
    }
  }
  if (size < 1e-3 || size >= 1e5) return value.toExponential(2).replace(/\.?0+e/, 'e').replace(/-/g, '−');
  return (size >= 100 ? value.toFixed(1) : size >= 1 ? value.toFixed(3) : value.toPrecision(3)).replace('-', '−');
}

export function count(value) {
  return value === null || value === undefined ? '–' : value.toLocaleString('en').replaceAll(',', '\u202f');
}

/* "1 token", "2 tokens". */
export function many(value, word) {
  return count(value) + ' ' + word + (value === 1 ? '' : 's');
}

export function bytes(value) {
  if (value === null || value === undefined) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  while (value >= 1000 && at < 4) { value /= 1000; at++; }
  return (at && value < 100 ? value.toFixed(1) : Math.round(value)) + ' ' + units[at];
}

export function span(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
  const s = ms / 1000;
  if (s < 1) return Math.max(0, Math.round(ms)) + ' ms';
  if (s < 60) return (s < 10 ? s.toFixed(1) : Math.round(s)) + ' s';
  const m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  if (d > 1) return d + ' days';
  return h ? h + ' h ' + (m % 60) + ' min' : m + ' min ' + Math.round(s % 60) + ' s';
}

export function ago(ms) {
  if (!ms) return '–';
  const s = (Date.now() - ms) / 1000;
  if (Math.abs(s) < 5) return 'now';
  const text = span(Math.abs(s) * 1000).replace(/(min|h) \d.*$/, '$1').replace(/\.\d s/, ' s');
  return s > 0 ? text + ' ago' : 'in ' + text;
}

export function when(ms) {
  return ms ? new Date(ms).toLocaleString() : '–';
}

export function timeTag(ms) {
  return ms ? el('time', {datetime: new Date(ms).toISOString(), title: when(ms)}, ago(ms)) : '–';
}

/* Cuts a long text; the rest is in the title. */
export function short(text, most) {
  text = String(text ?? '');
  return text.length <= most ? text : text.slice(0, most - 1) + '…';
}

export function shortId(id) {
  const [head, ...rest] = String(id).split(':');
  return rest.length && head.length > 12 ? head.slice(0, 8) + '…:' + rest.join(':') : short(id, 32);
}

/* Shows what cannot be seen: control characters and marks that change the direction of text. */
export function visible(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb]/g, c => {
    const code = c.charCodeAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    if (code === 127) return '\u2421';
    return '⟨U+' + code.toString(16).toUpperCase().padStart(4, '0') + '⟩';
  });
}

// ---- notes, dialogs, files ----

export function note(text, kind) {
  const box = document.getElementById('notes');
  const line = el('p', {class: 'note ' + (kind || '')}, text);
  box.append(line);
  setTimeout(() => line.remove(), kind === 'bad' ? 9000 : 4000);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', {class: 'away', 'aria-hidden': 'true'});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  note('Copied.');
}

export function copyButton(text, label) {
  return el('button', {class: 'small', onclick: () => copy(typeof text === 'function' ? text() : text)}, label || 'Copy');
}

/* A dialog; resolves to the value of the button that was pressed, null without one. */
export function dialog(title, body, buttons) {
  return new Promise(resolve => {
    const head = el('h2', {id: 'dialog-title'}, title);
    const box = el('dialog', {'aria-labelledby': 'dialog-title'}, head, body,
      el('div', {class: 'row end'}, buttons.map(b =>
        el('button', {class: b.class || '', 'data-value': b.value, onclick: () => box.close(b.value)}, b.label))));
    box.addEventListener('close', () => { const v = box.returnValue; box.remove(); resolve(v || null); });
    document.body.append(box);
    box.showModal();
    (box.querySelector('input, [data-first]') || box.querySelector('button')).focus();
  });
}

export async function sure(title, text, yes) {
  return await dialog(title, el('p', {}, text), [
    {label: 'Cancel', value: ''}, {label: yes, value: 'yes', class: 'danger'}]) === 'yes';
}

export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = el('a', {href: url, download: name.replace(/[^\w.-]+/g, '-')});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// ---- parts ----

export function field(label, control, hint) {
  return el('label', {class: 'field'}, el('span', {}, label), control, hint && el('small', {}, hint));
}

export function select(options, value, onchange, props) {
  return el('select', {...props, onchange: e => onchange(e.target.value)},
    options.map(o => {
      const [v, text] = Array.isArray(o) ? o : [o, o];
      return el('option', {value: v, selected: v === value}, text);
    }));
}

const PART = 20000; // characters of a text that are laid out at once: a line of a megabyte takes a browser seconds

/* A text that may be long: its beginning, and a button for the rest. */
export function longText(text, props) {
  const all = visible(text), box = el('div', {dir: 'auto', ...props}, all.slice(0, PART));
  if (all.length <= PART) return box;
  const rest = el('button', {class: 'small', onclick: () => { fill(box, all); rest.remove(); }}, 'Show all ' + count(all.length) + ' characters');
  return [box, rest];
}

/* What a view shows when there is nothing: what it would show, and what to type. */
export function empty(title, text, command) {
  return el('section', {class: 'empty'}, el('h2', {}, title), el('p', {}, text),
    command && el('div', {class: 'code'}, el('pre', {tabindex: 0}, command), copyButton(command)));
}

export function debounce(ms, f) {
  let timer = 0;
  return (...args) => { clearTimeout(timer); timer = setTimeout(() => f(...args), ms); };
}

/* Calls f at most once in `ms`, and once more after the last call. */
export function throttle(ms, f) {
  let timer = 0, last = 0;
  return () => {
    if (timer) return;
    timer = setTimeout(() => { timer = 0; last = performance.now(); f(); }, Math.max(0, last + ms - performance.now()));
  };
}
