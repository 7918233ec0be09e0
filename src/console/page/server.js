// The server: engine, memory, queue, sessions, errors.
import {el, fill, num, count, bytes, span, timeTag, visible, short, shortId, throttle} from './dom.js';
import {api, live} from './api.js';
import {serviceLine} from './runs.js';

function meter(label, part, text) {
  const fillIn = el('i', {});
  fillIn.style.width = Math.max(0, Math.min(1, part || 0)) * 100 + '%';
  return el('div', {class: 'meter'}, el('div', {class: 'row'}, el('span', {}, label), el('span', {class: 'grow'}), el('b', {}, text)),
    el('div', {class: 'bar', role: 'meter', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': Math.round((part || 0) * 100)}, fillIn));
}

function facts(rows) {
  return el('dl', {class: 'facts'}, rows.filter(([, v]) => v !== undefined).map(([k, v]) => el('div', {}, el('dt', {}, k), el('dd', {}, v))));
}

function table(caption, heads, rows, none) {
  if (!rows.length) return el('p', {class: 'soft'}, none);
  return el('div', {class: 'scroll'}, el('table', {}, el('caption', {class: 'away'}, caption),
    el('thead', {}, el('tr', {}, heads.map(h => el('th', {scope: 'col', class: h.n ? 'n' : ''}, h.n || h.t)))),
    el('tbody', {}, rows.map(r => el('tr', {}, r.map((c, i) => el('td', {class: heads[i].n ? 'n' : ''}, c)))))));
}

export function showServer(box, {alive, fail, title}) {
  title('Server');
  function render(s) {
    const m = s.memory, e = s.engine, q = s.queue, r = s.recording;
    fill(box, el('div', {class: 'head'}, el('h1', {}, 'Server'), el('span', {class: 'soft'}, 'tinkc ' + visible(s.version) + ', up ' + span(s.now_ms - s.started_ms))),
      el('div', {class: 'cards'},
        e && el('section', {class: 'card', 'aria-label': 'Engine'}, el('h2', {}, 'Engine'), meter('Computing', e.busy, Math.round((e.busy || 0) * 100) + ' %'),
          facts([['Training jobs', count(e.jobs)], ['Samples', count(e.samples)], ['Tokens trained', num(e.trained_tokens)],
            ['Tokens read', num(e.prompt_tokens)], ['Tokens sampled', num(e.sampled_tokens)]])),
        m && el('section', {class: 'card', 'aria-label': 'Memory'}, el('h2', {}, 'Memory'), meter('Used', m.used / m.limit, bytes(m.used) + ' of ' + bytes(m.limit)),
          facts([['Most at once', bytes(m.peak)], ...(m.parts || []).map(p => [visible(p.name), bytes(p.used)])])),
        s.http && el('section', {class: 'card', 'aria-label': 'Requests'}, el('h2', {}, 'Requests'), facts([['Answered', count(s.http.requests)], ['Active', count(s.http.active)],
          ['Connections', count(s.http.connections)], ...Object.entries(s.http.answers || {}).map(([k, v]) => [visible(k), count(v)])])),
        r && el('section', {class: 'card', 'aria-label': 'Recording'}, el('h2', {}, 'Recording'), meter('Disk', r.bytes / r.limit_bytes, bytes(r.bytes) + ' of ' + bytes(r.limit_bytes)),
          facts([['Samples', r.samples ? 'recorded' : 'not recorded'], ['Kept', r.keep_days + ' days'], ['Dropped', count(r.dropped)]]))),
      q && el('section', {class: 'card', 'aria-label': 'Queue'}, el('h2', {}, 'Queue'),
        facts([['Jobs', count(q.jobs)], ['Samples', count(q.samples)], ['Polls that wait', count(q.polls)]]),
        table('What is computed or waits', [{t: 'What'}, {t: 'Why'}, {n: 'Age'}], (q.items || []).map(i =>
          [[visible(i.kind), el('small', {title: visible(i.model || '')}, shortId(visible(i.model || '')) + (i.seq !== null && i.seq !== undefined ? ' · ' + i.seq : ''))],
            i.why === 'active' ? 'is computed, or will be soon' : visible(i.why || ''), span(i.age_ms)]), 'Nothing waits.')),
      s.service && el('section', {class: 'card', 'aria-label': 'Service'}, el('h2', {}, 'Service'), serviceLine(s.service)),
      s.sessions && s.service?.state !== 'off' && el('section', {class: 'card', 'aria-label': 'Sessions'}, el('h2', {}, 'Sessions'),
        table('Sessions', [{t: 'Session'}, ...(s.service ? [] : [{n: 'Age'}, {n: 'Silent for'}]), {n: 'Models'}, {n: 'Samplers'}], s.sessions.map(x =>
          [el('span', {title: x.id}, short(visible(x.name || shortId(x.id)), 48)), ...(s.service ? [] : [span(x.age_ms), span(x.silent_ms)]), count(x.models), count(x.samplers)]),
        s.service ? 'The service lists none.' : 'Nobody is connected. A session begins with the first call of a client.')),
      el('section', {class: 'card', 'aria-label': 'Warnings and errors'}, el('h2', {}, 'Warnings and errors'),
        (s.errors || []).length ? el('ul', {class: 'log'}, s.errors.map(x => el('li', {}, timeTag(x.time_ms), ' ', el('span', {}, visible(x.text)))))
          : el('p', {class: 'soft'}, 'None since the start.')));
  }

  let first = true;
  async function load() {
    try {
      const s = await api.server();
      if (!alive()) return;
      const place = scrollY, inner = [...box.querySelectorAll('.scroll, .log')].map(n => [n.scrollLeft, n.scrollTop]);
      render(s);
      [...box.querySelectorAll('.scroll, .log')].forEach((n, i) => { if (inner[i]) [n.scrollLeft, n.scrollTop] = inner[i]; });
      scrollTo(0, place);
      first = false;
    } catch (error) { if (first) fail(error); }
  }
  const again = throttle(1000, () => alive() && load());
  const stop = live(event => { if (event !== 'sample') again(); });
  const timer = setInterval(again, 10000);
  load();
  return () => { stop(); clearInterval(timer); };
}
