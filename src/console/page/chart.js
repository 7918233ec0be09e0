// Curves: one drawing for the screen and for the SVG file, with zoom by drag and values under
// the pointer or, with the arrow keys, under a cursor.
import {el, svg, num, fill, visible, short} from './dom.js';

const LIGHT = {ink: '#333', soft: '#666', grid: '#e4e2dd', axis: '#999', paper: '#fff',
  lines: ['#2b6cb0', '#b4501a', '#2f7d4f', '#7b4fa3', '#a8324a', '#4a6a70', '#80641a', '#a33f84']};
const DARK = {ink: '#e4e1da', soft: '#aaa69d', grid: '#33363a', axis: '#777', paper: '#1b1d20',
  lines: ['#79b0ea', '#e8965f', '#79c797', '#bd9be0', '#e58796', '#93b4ba', '#d3b462', '#e08cc6']};

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

export function palette() { return isDark() ? DARK : LIGHT; }

// ---- scales ----

export function ticks(low, high, most) {
  const width = high - low;
  if (!(width > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(width / most));
  const rough = width / most / power;
  const step = power * (rough <= 1 ? 1 : rough <= 2 ? 2 : rough <= 5 ? 5 : 10);
  const out = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
    out.push(Math.abs(v) < step * 1e-6 ? 0 : v);
  return out;
}

function logTicks(low, high) {
  const out = [];
  for (let e = Math.floor(low); e <= Math.ceil(high); e++)
    for (const m of high - low > 3 ? [1] : [1, 2, 5]) {
      const v = e + Math.log10(m);
      if (v >= low - 1e-9 && v <= high + 1e-9) out.push(v);
    }
  return out;
}

function tickText(value, all) {
  const step = all.length > 1 ? Math.abs(all[1] - all[0]) : Math.abs(value) || 1;
  const most = Math.max(...all.map(Math.abs));
  if (most >= 1e4 || step < 1e-4) return num(value);
  return value.toFixed(step < 1 ? Math.min(9, Math.ceil(-Math.log10(step) - 1e-9)) : 0).replace('-', '−');
}

function logText(value) {
  return value >= 1e4 || value < 1e-4 ? num(value) : String(Number(value.toPrecision(1)));
}

function clock(ms, width) {
  const d = new Date(ms);
  return width > 2 * 86400e3 ? d.toLocaleDateString() : d.toLocaleTimeString([], width < 600e3 ? {} : {hour: '2-digit', minute: '2-digit'});
}

/* Exponential mean, corrected for its start, as TensorBoard's. */
export function smooth(values, weight) {
  if (!weight) return values;
  let sum = 0, share = 0;
  return values.map(v => {
    if (v === null) return null;
    sum = sum * weight + v * (1 - weight);
    share = share * weight + (1 - weight);
    return sum / share;
  });
}

const finite = v => v !== null && v !== undefined && Number.isFinite(v);

/* Where things are: maps values to pixels. */
function layout(lines, o, width, height) {
  const left = 58, right = width - 22, top = 14, bottom = height - (o.xName ? 44 : 26);
  const lift = o.log ? v => (v > 0 ? Math.log10(v) : NaN) : v => v;
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
  for (const l of lines) for (let i = 0; i < l.x.length; i++) {
    const x = l.x[i];
    if (!finite(x)) continue;
    if (o.zoom && (x < o.zoom[0] || x > o.zoom[1])) continue;
    x0 = Math.min(x0, x); x1 = Math.max(x1, x);
    for (const v of [l.min ? l.min[i] : l.y[i], l.max ? l.max[i] : l.y[i]]) {
      const y = finite(v) ? lift(v) : NaN;
      if (!Number.isNaN(y)) { y0 = Math.min(y0, y); y1 = Math.max(y1, y); }
    }
  }
  const any = y1 >= y0;
  if (!any) { x0 = x0 <= x1 ? x0 : 0; x1 = x1 >= x0 ? x1 : 1; y0 = 0; y1 = 1; }
  if (o.zoom) [x0, x1] = o.zoom;
  if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
  if (y1 - y0 < Math.abs(y1) * 1e-9 || y0 === y1) { const r = Math.abs(y0) * 0.1 || 0.5; y0 -= r; y1 += r; }
  const pad = (y1 - y0) * 0.06;
  const floor = !o.log && y0 >= 0 && y0 - pad < 0 ? 0 : y0 - pad;
  y0 = floor; y1 += pad;
  return {left, right, top, bottom, lift, x0, x1, y0, y1, any,
    px: x => left + (x - x0) / (x1 - x0) * (right - left),
    py: v => bottom - (lift(v) - y0) / (y1 - y0) * (bottom - top),
    ux: p => x0 + (p - left) / (right - left) * (x1 - x0)};
}

function path(m, xs, ys) {
  let d = '', up = true;
  for (let i = 0; i < xs.length; i++) {
    const y = finite(ys[i]) ? m.py(ys[i]) : NaN;
    if (Number.isNaN(y) || !finite(xs[i])) { up = true; continue; }
    d += (up ? 'M' : 'L') + m.px(xs[i]).toFixed(1) + ' ' + Math.max(-1e5, Math.min(1e5, y)).toFixed(1);
    up = false;
  }
  return d;
}

function band(m, l) {
  let there = '', back = '';
  for (let i = 0; i < l.x.length; i++) {
    if (!finite(l.min[i]) || !finite(l.max[i])) continue;
    const a = m.py(l.max[i]), b = m.py(l.min[i]);
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    there += (there ? 'L' : 'M') + m.px(l.x[i]).toFixed(1) + ' ' + a.toFixed(1);
    back = 'L' + m.px(l.x[i]).toFixed(1) + ' ' + b.toFixed(1) + back;
  }
  return there && there + back + 'Z';
}

let serial = 0;

function axes(m, o, p, group) {
  const isTime = o.by === 'time';
  const xs = ticks(m.x0, m.x1, Math.max(2, Math.floor((m.right - m.left) / (isTime ? 110 : 80))));
  const ys = o.log ? logTicks(m.y0, m.y1) : ticks(m.y0, m.y1, Math.max(2, Math.floor((m.bottom - m.top) / 48)));
  for (const y of ys) {
    const at = m.bottom - (y - m.y0) / (m.y1 - m.y0) * (m.bottom - m.top);
    group.append(svg('path', {d: `M${m.left} ${at.toFixed(1)}H${m.right}`, stroke: p.grid}),
      svg('text', {x: m.left - 8, y: (at + 4).toFixed(1), 'text-anchor': 'end', fill: p.soft},
        o.log ? logText(10 ** y) : tickText(y, ys)));
  }
  for (const x of xs)
    group.append(svg('path', {d: `M${m.px(x).toFixed(1)} ${m.bottom}v5`, stroke: p.axis}),
      svg('text', {x: m.px(x).toFixed(1), y: m.bottom + 18, 'text-anchor': 'middle', fill: p.soft},
        isTime ? clock(x, m.x1 - m.x0) : tickText(x, xs)));
  group.append(svg('path', {d: `M${m.left} ${m.bottom}H${m.right}`, stroke: p.axis}));
  if (o.xName)
    group.append(svg('text', {x: (m.left + m.right) / 2, y: m.bottom + 36, 'text-anchor': 'middle', fill: p.soft}, o.xName));
}

/* Draws into an <svg> of that size. */
function draw(lines, o, width, height, p) {
  const m = layout(lines, o, width, height), clip = 'clip' + ++serial;
  const root = svg('svg', {xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${height}`, width, height,
    'font-family': 'system-ui, sans-serif', 'font-size': 12});
  root.append(svg('defs', {}, svg('clipPath', {id: clip},
    svg('rect', {x: m.left, y: m.top - 6, width: Math.max(0, m.right - m.left), height: m.bottom - m.top + 12}))));
  const frame = svg('g', {}), inner = svg('g', {'clip-path': `url(#${clip})`}), points = svg('g', {}); // whole, also at the edge
  axes(m, o, p, frame);
  lines.forEach((l, i) => {
    const color = p.lines[(l.color ?? i) % p.lines.length];
    const d = !l.dotted && l.min && !o.weight ? band(m, l) : '';
    if (d) inner.append(svg('path', {d, fill: color, 'fill-opacity': 0.16}));
    if (l.dotted || l.x.length === 1) {
      for (let k = 0; k < l.x.length; k++)
        if (finite(l.y[k]) && !Number.isNaN(m.py(l.y[k])) && m.px(l.x[k]) >= m.left - 0.5 && m.px(l.x[k]) <= m.right + 0.5)
          points.append(svg('circle', {cx: m.px(l.x[k]).toFixed(1), cy: m.py(l.y[k]).toFixed(1), r: 4, fill: color, stroke: p.paper}));
      return;
    }
    if (o.weight)
      inner.append(svg('path', {d: path(m, l.x, l.y), fill: 'none', stroke: color, 'stroke-opacity': 0.25}));
    inner.append(svg('path', {d: path(m, l.x, smooth(l.y, o.weight)), fill: 'none', stroke: color,
      'stroke-width': 1.7, 'stroke-linejoin': 'round'}));
  });
  root.append(frame, inner, points);
  return {root, m};
}

/* A chart as text of an SVG file, on white, with a legend. */
export function chartFile(lines, o, title) {
  const rows = Math.ceil(lines.length / 3), head = 36 + rows * 18;
  const {root} = draw(lines, {...o, xName: o.xName || o.by}, 880, 420, LIGHT);
  const all = svg('svg', {xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 880 ${420 + head}`,
    'font-family': 'system-ui, sans-serif', 'font-size': 12},
    svg('rect', {width: 880, height: 420 + head, fill: '#fff'}),
    svg('text', {x: 440, y: 24, 'font-size': 15, 'text-anchor': 'middle', fill: '#333'}, title));
  lines.forEach((l, i) => {
    const x = 60 + (i % 3) * 270, y = 44 + Math.floor(i / 3) * 18;
    all.append(svg('path', {d: `M${x} ${y - 4}h18`, stroke: LIGHT.lines[(l.color ?? i) % 8], 'stroke-width': 3}),
      svg('text', {x: x + 24, y, fill: '#333'}, short(visible(l.name), 36)));
  });
  root.setAttribute('y', head);
  all.append(root);
  return new XMLSerializer().serializeToString(all) + '\n';
}

/* A chart on the page: {node, set(lines, options)}. Options: by, log, weight, zoom, xName, label; onZoom(range or null). */
export function chart(options) {
  let lines = [], o = {...options}, m = null, width = 0, at = null, from = null, theme = null;
  const height = () => Math.max(160, o.height || Math.min(420, Math.max(240, width * 0.46)));
  const view = el('div', {class: 'plot'});
  const tip = el('div', {class: 'tip', hidden: true});
  const box = el('figure', {class: 'chart', tabindex: 0, role: 'group', 'aria-roledescription': 'chart'}, view, tip);
  let overlay = null, mark = null;

  function describe() {
    const parts = lines.map(l => {
      const ys = l.y.filter(finite);
      return visible(l.name) + (ys.length ? ': ' + num(ys[0]) + ' to ' + num(ys[ys.length - 1]) : ': no values');
    });
    box.setAttribute('aria-label', (o.label || 'Chart') + '. ' + parts.join('; ') + '. Arrow keys read values.');
  }

  function render() {
    if (!width) return;
    theme = isDark();
    const drawn = draw(lines, o, width, height(), palette());
    m = drawn.m;
    overlay = svg('g', {});
    drawn.root.append(overlay);
    drawn.root.setAttribute('aria-hidden', 'true');
    fill(view, drawn.root);
    if (!m.any) view.append(el('p', {class: 'none'}, o.none || 'No values yet.'));
    if (at !== null) point(at);
    if (from !== null && mark) overlay.append(mark);
  }

  function nearest(l, x) {
    let low = 0, high = l.x.length - 1;
    if (high < 0) return -1;
    while (high - low > 1) {
      const mid = (low + high) >> 1;
      if (l.x[mid] <= x) low = mid; else high = mid;
    }
    return Math.abs(l.x[low] - x) <= Math.abs(l.x[high] - x) ? low : high;
  }

  /* Shows the values at x. */
  function point(x) {
    at = x;
    overlay.replaceChildren();
    if (!m || !m.any || x === null) { tip.hidden = true; return; }
    const p = palette();
    let best = null;
    for (const l of lines) {
      const i = nearest(l, x);
      if (i >= 0 && (best === null || Math.abs(l.x[i] - x) < Math.abs(best - x))) best = l.x[i];
    }
    if (best === null) return;
    const px = m.px(best);
    overlay.append(svg('path', {d: `M${px.toFixed(1)} ${m.top}V${m.bottom}`, stroke: p.axis, 'stroke-dasharray': '3 3'}));
    const rows = [];
    lines.forEach((l, k) => {
      const i = nearest(l, best);
      if (i < 0 || !finite(l.y[i]) || (l.dotted && l.x[i] !== best && Math.abs(m.px(l.x[i]) - px) > 12)) return;
      const color = p.lines[(l.color ?? k) % p.lines.length], y = m.py(l.y[i]);
      if (!Number.isNaN(y)) overlay.append(svg('circle', {cx: m.px(l.x[i]).toFixed(1), cy: y.toFixed(1), r: 3.5, fill: color}));
      const dot = el('i', {class: 'dot'});
      dot.style.background = color;
      rows.push(el('div', {}, dot, el('span', {}, short(visible(l.name), 28)), el('b', {}, num(l.y[i])),
        l.n && l.n[i] > 1 && el('small', {}, num(l.min[i]) + '–' + num(l.max[i]))));
    });
    fill(tip, el('div', {class: 'tip-x'}, o.by === 'time' ? new Date(best).toLocaleString() : (o.by || 'x') + ' ' + num(best)), rows);
    tip.hidden = false;
    const w = tip.offsetWidth;
    tip.style.left = Math.max(0, px + 14 + w > width ? px - 14 - w : px + 14) + 'px';
  }

  const where = e => e.clientX - view.getBoundingClientRect().left;
  view.addEventListener('pointerdown', e => {
    if (e.button || !m) return;
    from = where(e);
    mark = svg('rect', {y: m.top, height: m.bottom - m.top, fill: palette().lines[0], 'fill-opacity': 0.15, width: 0});
    overlay.append(mark);
    view.setPointerCapture(e.pointerId);
  });
  view.addEventListener('pointermove', e => {
    if (!m) return;
    const x = Math.min(m.right, Math.max(m.left, where(e)));
    if (from === null) { point(m.ux(x)); return; }
    mark.setAttribute('x', Math.min(from, x));
    mark.setAttribute('width', Math.abs(x - from));
  });
  view.addEventListener('pointerup', e => {
    if (from === null) return;
    const a = Math.max(m.left, Math.min(from, where(e))), b = Math.min(m.right, Math.max(from, where(e)));
    from = null;
    if (mark) mark.remove();
    if (b - a > 6) zoom([m.ux(a), m.ux(b)]);
  });
  view.addEventListener('pointercancel', () => { from = null; if (mark) mark.remove(); });
  view.addEventListener('pointerleave', () => { if (from === null) { at = null; overlay?.replaceChildren(); tip.hidden = true; } });
  view.addEventListener('dblclick', () => zoom(null));
  box.addEventListener('keydown', e => {
    if (!m || !m.any) return;
    const widest = lines.reduce((a, l) => (l.x.length > a.x.length ? l : a), {x: []});
    const i = at === null ? widest.x.length : nearest(widest, at);
    const step = e.shiftKey ? 10 : 1;
    if (e.key === 'ArrowLeft') point(widest.x[Math.max(0, i - step)]);
    else if (e.key === 'ArrowRight') point(widest.x[Math.min(widest.x.length - 1, i + step)]);
    else if (e.key === '+' || e.key === '=') { const c = at ?? (m.x0 + m.x1) / 2, r = (m.x1 - m.x0) / 4; zoom([c - r, c + r]); }
    else if (e.key === '-' || e.key === 'Escape') zoom(null);
    else return;
    e.preventDefault();
  });

  function zoom(range) {
    if (o.onZoom) o.onZoom(range);
    else { o.zoom = range; render(); }
  }

  new ResizeObserver(() => {
    if (view.clientWidth !== width || theme !== isDark()) { width = view.clientWidth; render(); }
  }).observe(view);
  addEventListener('themechange', () => box.isConnected && render());

  return {node: box,
    set(next, more) { lines = next; Object.assign(o, more || {}); describe(); render(); },
    file: title => chartFile(lines, o, title)};
}

/* A small curve without axes. */
export function spark(values, label) {
  const ys = (values || []).filter(finite);
  const root = svg('svg', {class: 'spark', viewBox: '0 0 120 28', width: 120, height: 28, role: 'img', 'aria-label': label});
  if (ys.length < 2) return root;
  const low = Math.min(...ys), high = Math.max(...ys);
  const d = ys.map((v, i) => (i ? 'L' : 'M') + (2 + i / (ys.length - 1) * 116).toFixed(1) + ' ' +
    (high > low ? 25 - (v - low) / (high - low) * 22 : 14).toFixed(1)).join('');
  root.append(svg('path', {d, fill: 'none', class: 'spark-line'}));
  return root;
}
