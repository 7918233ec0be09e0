// Series of metrics as the server sends them, and as charts want them.

export const axis = {step: 'step', tokens: 'tokens', time: 'time'};

/* Sorts names; the loss, and what belongs to it, first. */
export function sortMetrics(names) {
  const rank = n => (n === 'loss' ? 0 : n === 'eval_loss' ? 1 : n.startsWith('reward') ? 2 : 3);
  return names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/* A line of a chart. */
export function toLine(series, by) {
  const n = series.step.length;
  const x = by === 'tokens' ? series.tokens : by === 'time' ? series.time_ms : series.step;
  return {name: series.name, x, y: series.mean, min: series.min, max: series.max, n: series.n,
    dotted: series.name.startsWith('eval') && n < 200};
}

/* Adds a step that just happened. */
export function append(series, event, value) {
  const last = series.step.length - 1;
  if (last >= 0 && event.step < series.step[last]) return;
  const same = last >= 0 && event.step === series.step[last];
  const at = same ? last : last + 1;
  series.step[at] = event.step;
  series.time_ms[at] = event.time_ms;
  series.tokens[at] = event.tokens;
  if (same && series.n[at] > 1) {
    series.min[at] = Math.min(series.min[at], value);
    series.max[at] = Math.max(series.max[at], value);
    return;
  }
  series.min[at] = series.max[at] = series.mean[at] = value;
  series.n[at] = 1;
  if (!same) series.total++;
}

const cell = text => (/[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

export function toCsv(all) {
  const out = ['metric,step,tokens,time_ms,mean,min,max,n'];
  for (const s of all)
    for (let i = 0; i < s.step.length; i++)
      out.push([cell(s.name), s.step[i], s.tokens[i], s.time_ms[i], s.mean[i] ?? '', s.min[i] ?? '', s.max[i] ?? '', s.n[i]].join(','));
  return out.join('\n') + '\n';
}
