import {address, get} from './api.js';
import {h, replace, svg, words} from './dom.js';
import {number} from './format.js';
import {t} from './i18n.js';
import {errorBox, page, table} from './parts.js';

export async function render({main, place, life}) {
  const p = place.parameters;
  const by = ['user', 'team', 'month'].includes(p.by) ? p.by : 'user';
  const month = d => d.toISOString().slice(0, 10);
  const from = p.from || month(new Date(Date.now() - 90 * 864e5)), to = p.to || month(new Date(Date.now() + 864e5));
  const out = h('div', {});
  const query = {from: `${from}T00:00:00.000Z`, to: `${to}T00:00:00.000Z`, by: 'user,team,month'};
  const form = h('form', {class: 'toolbar', onsubmit: e => { e.preventDefault(); const f = new FormData(form); location.hash = `#/usage?by=${f.get('by')}&from=${f.get('from')}&to=${f.get('to')}`; }},
    h('label', {}, t('usage.from'), ' ', h('input', {type: 'date', name: 'from', value: from})), h('label', {}, t('usage.to'), ' ', h('input', {type: 'date', name: 'to', value: to})),
    h('label', {}, t('usage.by'), ' ', h('select', {name: 'by'}, ['user', 'team', 'month'].map(b => h('option', {value: b, selected: b === by}, t(`usage.${b}`))))),
    h('button', {}, t('show')), h('a', {class: 'button second', href: address('/usage', {...query, format: 'csv'}), download: 'usage.csv'}, 'CSV'));
  replace(main, ...page(t('nav.usage'), h('section', {}, form, out)));
  try {
    const answer = await get('/usage', query);
    if (life.over) return;
    const rows = answer.usage;
    const sums = new Map();
    for (const r of rows) {
      const key = r[by] || '–';
      const s = sums.get(key) ?? {jobs: 0, hours: 0, idle: 0, energy: null, unmetered: 0};
      s.jobs += r.jobs;
      s.hours += r.device_hours;
      s.idle += r.idle_device_hours;
      if (r.energy_kwh !== null) s.energy = (s.energy ?? 0) + r.energy_kwh;
      s.unmetered += r.unmetered_device_hours;
      sums.set(key, s);
    }
    const list = [...sums].sort((a, b) => by === 'month' ? (a[0] < b[0] ? -1 : 1) : b[1].hours - a[1].hours);
    const most = Math.max(...list.map(([, s]) => s.hours), 1e-9);
    replace(out, table([t(`usage.${by}`), {title: t('usage.jobs'), n: true}, {title: t('usage.hours'), n: true}, '', {title: t('usage.idle'), n: true}, {title: t('usage.energy'), n: true}],
      list.map(([name, s]) => [words(name, 60), s.jobs, number(s.hours), bar(s, most), `${number(s.idle)} (${s.hours ? Math.round(100 * s.idle / s.hours) : 0} %)`, energyOf(s)]), t('usage.none')));
  } catch (e) { replace(out, errorBox(e)); }
}

// Of what nobody measured it is not known; a sum of which a part is not known is a least.
function energyOf(s) {
  if (s.energy === null) return h('span', {title: t('usage.energy.unknown')}, '–');
  return s.unmetered > 0 ? h('span', {title: t('usage.energy.part', {hours: number(s.unmetered)})}, `≥ ${number(s.energy)}`) : number(s.energy);
}

function bar(s, most) {
  const width = 100 * s.hours / most, idle = s.hours ? width * s.idle / s.hours : 0;
  return svg('svg', {class: 'usage-bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'}, svg('rect', {class: 'bar', width: Math.max(width - idle, 0), height: 10}), svg('rect', {class: 'bar behind', x: width - idle, width: idle, height: 10}));
}
