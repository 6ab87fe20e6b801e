// The metrics of a run: of a job, or of `assay run --web`.
import {get, stream} from './api.js';
import {Chart} from './chart.js';
import {h, replace} from './dom.js';
import {known, t, term} from './i18n.js';

const kPoints = 800;
const kOrder = ['throughput', 'tokens', 'loss', 'accuracy', 'lr', 'step', 'util', 'memory', 'power', 'temperature'];
const kSteps = ['step_time', 'data_s', 'compute_s', 'comm_s', 'optimizer_s'];

// Series of one chart: phases of a step belong together, devices and nodes apart.
function chartOf(series) {
  if (kSteps.includes(series.name)) return `step:${series.scope}`;
  if (series.scope === 'rank' && series.name === 'throughput') return 'throughput:rank';
  return `${series.name}:${series.scope}`;
}

function labelOf(series, chart) {
  if (chart.startsWith('step:')) return `${term('metric', series.name)} · ${t('console.rank', {rank: series.of})}`;
  if (series.scope === 'rank') return t('console.rank', {rank: series.of});
  if (series.scope === 'trial') return t('metrics.trial', {trial: series.of});
  if (series.scope === 'job') return term('metric', series.name);
  return series.host && series.scope === 'node' ? `${series.of} · ${series.host}` : series.of;
}

// `path`: of the REST interface, such as "/jobs/7/metrics".
export function metricsView(path, query, life) {
  const state = h('p', {class: 'said', role: 'status'}, t('loading'));
  const grid = h('div', {class: 'charts'});
  const reset = h('button', {type: 'button', class: 'second', hidden: true, onclick: () => { zoom.from = zoom.to = null; zoom.changed(); }}, t('metrics.whole'));
  const table = h('details', {class: 'marks'}, h('summary', {}, t('metrics.events')), h('ul', {}));
  const body = h('div', {class: 'metrics'}, h('div', {class: 'toolbar'}, state, reset), grid, table);
  const zoom = {from: null, to: null, changed: () => { reset.hidden = zoom.from === null; zoomed(); }};
  const series = new Map();   // the series of the whole run
  let detail = null;          // the same for the part that is zoomed in
  let marks = [];
  let newest = 0;
  let generation = 0;
  const charts = new Map();
  let asked = 0;

  const keyOf = s => `${s.name}|${s.scope}|${s.of}`;
  function take(answer) {
    if (answer.generation !== generation) { series.clear(); marks = []; generation = answer.generation; newest = 0; }
    for (const s of answer.series) {
      const known = series.get(keyOf(s));
      if (!known) { series.set(keyOf(s), {...s}); continue; }
      known.points = known.points.filter(p => p[0] < s.replaces_from).concat(s.points);
      if (known.points.length > 4 * kPoints) known.points = thin(known.points);
    }
    const name = m => `${m.t}|${m.kind}|${m.text}`;
    marks = [...new Map([...marks, ...answer.marks].map(m => [name(m), m])).values()];
    newest = Math.max(newest, answer.newest);
    say(answer);
    draw();
  }

  function say(answer) {
    const text = answer.why ? t('metrics.late') : !series.size ? t(answer.ended ? 'metrics.none' : 'metrics.waiting')
               : answer.ended ? t('metrics.ended') : answer.indexing ? t('indexing') : t('metrics.live');
    state.className = 'said' + (answer.ended || answer.why ? '' : ' live');
    replace(state, text);
  }

  function draw() {
    let least = Infinity, greatest = -Infinity;
    for (const s of series.values()) {
      if (!s.points.length) continue;
      least = Math.min(least, s.points[0][0]);
      greatest = Math.max(greatest, s.points[s.points.length - 1][0]);
    }
    zoom.least = least < greatest ? least : null;
    zoom.greatest = least < greatest ? greatest : null;
    const groups = new Map();
    for (const s of (detail ?? series).values()) {
      const chart = chartOf(s);
      if (!groups.has(chart)) groups.set(chart, []);
      groups.get(chart).push(s);
    }
    const rank = name => { const i = kOrder.indexOf(name.split(':')[0]); return i < 0 ? 99 : i; };
    const order = [...groups.keys()].sort((a, b) => rank(a) - rank(b) || (a.endsWith('job') ? -1 : b.endsWith('job') ? 1 : a < b ? -1 : 1));
    for (const name of order) {
      const group = groups.get(name).sort((a, b) => a.of.localeCompare(b.of, 'en', {numeric: true}));
      if (!charts.has(name)) {
        const [metric, scope] = name.split(':');
        const title = `${known(`metric.${metric}`) ? t(`metric.${metric}`) : group[0].title}${scope === 'job' ? '' : ' · ' + t(`scope.${scope}`)}`;
        charts.set(name, new Chart(title, group[0].unit, zoom));
      }
      const chart = charts.get(name);
      const place = grid.children[order.indexOf(name)];
      if (place !== chart.element) grid.insertBefore(chart.element, place ?? null);
      chart.show(group.map(s => ({key: keyOf(s), label: labelOf(s, name), points: s.points})), marks);
    }
    table.hidden = !marks.length;
    const list = table.lastChild;
    if (list.childElementCount !== marks.length)
      replace(list, marks.slice(-200).sort((a, b) => a.t - b.t).map(m => h('li', {}, h('time', {}, new Date(m.t * 1000).toLocaleTimeString()), ' ', term('phase', m.text))));
  }

  async function zoomed() {
    if (zoom.from === null) { detail = null; draw(); return; }
    draw();
    const mine = ++asked;
    try {
      const answer = await get(path, {...query, from: zoom.from, to: zoom.to, points: kPoints});
      if (mine !== asked || zoom.from === null) return;
      detail = new Map(answer.series.map(s => [keyOf(s), s]));
      draw();
    } catch { /* what is there is shown */ }
  }

  let busy = false;
  async function more() {
    if (busy || life.over) return;
    busy = true;
    try {
      const answer = await get(path, {...query, points: kPoints, from: newest || undefined});
      if (!life.over) take(answer);
      if (answer.ended && !answer.indexing) ended = true;
    } catch (e) {
      state.className = 'said';
      replace(state, e.code === 'unreachable' ? t('error.unreachable') : e.status === 404 ? t('metrics.norun') : e.message);
    }
    busy = false;
  }
  let ended = false;
  more().then(() => {
    if (life.over || ended) return;
    const close = stream(path + '/stream', {...query, from: newest || undefined}, {points: answer => {
      take(answer);
      if (answer.ended && !answer.indexing) close();
    }}, () => life.every(1000, () => { if (!ended) more(); }));
    life.add(close);
  });
  return body;
}

function thin(points) {
  const out = [];
  for (let i = 0; i < points.length; i += 4) {
    const four = points.slice(i, i + 4).filter(p => p[1] !== null);
    if (!four.length) { out.push(points[i]); continue; }
    const low = four.reduce((a, b) => b[1] < a[1] ? b : a), high = four.reduce((a, b) => b[1] > a[1] ? b : a);
    out.push(...(low === high ? [low] : low[0] < high[0] ? [low, high] : [high, low]));
  }
  return out;
}
