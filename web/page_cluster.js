import {get, part, post} from './api.js';
import {h, replace, words} from './dom.js';
import {bytes, number} from './format.js';
import {t} from './i18n.js';
import {deed, page, pairs, prompt, table} from './parts.js';

// What devices can be coloured by: how much of its most a value is, 0 to 1, and how it is written.
const share = (value, least, most) => Math.max(0, Math.min(1, (value - least) / (most - least || 1)));
const kViews = {
  util: {of: d => d.util, part: v => v, text: v => `${number(100 * v, 3)} %`, short: v => Math.round(100 * v)},
  memory: {of: d => d.mem_used_bytes !== null && d.mem_total_bytes ? d.mem_used_bytes / d.mem_total_bytes : null, part: v => v, text: (v, d) => `${bytes(d.mem_used_bytes)} / ${bytes(d.mem_total_bytes)}`, short: v => Math.round(100 * v)},
  power: {of: d => d.power_w, part: (v, most) => share(v, 0, most), text: v => `${number(v, 3)} W`, short: v => Math.round(v)},
  temperature: {of: d => d.temp_c, part: v => share(v, 20, 100), text: v => `${number(v, 3)} °C`, short: v => Math.round(v)},
};

export async function render({main, life, place, session}) {
  let view = place.parameters.by in kViews || place.parameters.by === 'who' ? place.parameters.by : 'util';
  let shown = null, most = 0;
  const choice = h('div', {class: 'segments', role: 'radiogroup', 'aria-label': t('cluster.by_what')}, [...Object.keys(kViews), 'who'].map(name => h('label', {}, h('input', {type: 'radio', name: 'by', value: name, checked: name === view, onchange: () => { view = name; if (shown) draw(...shown); }}), h('span', {}, t(`cluster.by.${name}`)))));
  const legend = h('p', {class: 'legend'});
  const map = h('div', {class: 'nodes'});
  const sums = h('div', {});
  const alarm = h('div', {});
  const strangers = h('section', {});
  replace(main, ...page(t('nav.cluster'), h('section', {}, alarm, sums, h('div', {class: 'toolbar by'}, h('span', {class: 'sub'}, t('cluster.by_what')), choice), map, legend), strangers));
  const load = async () => {
    const {nodes, trouble} = await get('/nodes');
    const others = (await get('/others')).jobs;
    if (!life.over) draw(...shown = [nodes, trouble, others]);
  };
  function drawLegend() {
    const range = {util: ['0 %', '100 %'], memory: ['0 %', '100 %'], power: ['0 W', `${number(most, 3)} W`], temperature: ['≤ 20 °C', '≥ 100 °C']}[view];
    replace(legend, range ? [h('span', {class: 'scale'}, range[0], h('i', {class: 'ramp'}), range[1]), h('span', {}, h('i', {class: 'box unknown'}), t('cluster.unknown'))] : null,
      ['free', ...(range ? [] : ['used']), 'drained', 'lost'].map(k => h('span', {}, h('i', {class: `box ${k}`}), t(`cluster.${k}`))));
  }
  function draw(nodes, trouble, others) {
    most = Math.max(0, ...nodes.flatMap(n => n.readings ? n.readings.devices.map(d => d.power_w ?? 0) : []));
    drawLegend();
    replace(alarm, trouble ? h('div', {class: 'finding invalid'}, h('p', {class: 'reason'}, words(trouble, 500)), h('p', {class: 'where'}, t('cluster.stale'))) : null);
    strangers.hidden = !others.length;
    replace(strangers, others.length ? [h('h2', {}, t('cluster.others')), h('p', {class: 'sub'}, t('cluster.others.note')),
      table(['id', 'name', 'user', 'queue', 'state', 'where'].map(k => t(`cluster.others.${k}`)),
        others.slice(0, 500).map(o => [o.id, o.name, o.user, o.queue, o.state.toLowerCase(), o.waiting || o.node_list].map(x => words(x, 120))), '')] : null);
    const used = n => n.uses.reduce((sum, u) => sum + u.devices, 0);
    const all = nodes.reduce((sum, n) => sum + n.devices, 0), busy = nodes.reduce((sum, n) => sum + used(n), 0);
    replace(sums, h('dl', {class: 'cards', vars: {'--columns': 4}}, [[t('cluster.nodes'), nodes.length], [t('cluster.devices'), all], [t('cluster.used'), `${busy}${all ? ` · ${Math.round(100 * busy / all)} %` : ''}`], [t('cluster.out'), nodes.filter(n => n.drained || n.lost).length]]
      .map(([name, value]) => h('div', {class: 'card'}, h('dt', {}, name), h('dd', {class: 'value'}, value)))));
    replace(map, nodes.length ? nodes.map(node) : h('p', {class: 'empty'}, t('cluster.none')));
  }
  function node(n) {
    // The job of each device: by index if that is known, else filled up from the left.
    const owner = new Array(Math.min(n.devices, 512)).fill(null);
    for (const use of n.uses) for (const i of use.indices || []) if (i < owner.length) owner[i] = use;
    for (const use of n.uses) if (!(use.indices || []).length) for (let i = 0, left = use.devices; i < owner.length && left; ++i) if (!owner[i]) { owner[i] = use; --left; }
    const state = n.lost ? 'lost' : n.drained ? 'drained' : '';
    return h('article', {class: `node ${state}`}, h('header', {}, h('b', {}, words(n.name, 40)), h('span', {class: 'sub inline'}, words(n.device_type, 30), ` × ${n.devices}`), state && h('span', {class: `chip ${n.lost ? 'invalid' : 'incomplete'}`}, t(`cluster.${state}`))),
      n.readings && now(n.readings.node),
      h('div', {class: 'devices'}, owner.map((use, i) => device(use, i, n.readings && n.readings.devices[i]))),
      n.uses.length ? h('p', {class: 'sub'}, n.uses.map((u, i) => [i ? ' · ' : '', h('a', {href: `#/jobs/${u.job}/brief`}, `#${u.job}`), ' ', words(u.owner, 30), ` (${u.devices})`])) : null,
      n.state ? h('p', {class: 'sub'}, words(n.state, 40), !n.drained && n.reason && [': ', words(n.reason, 200)]) : null,
      n.drained && h('p', {class: 'sub'}, t('cluster.by', {who: n.drained_by || '–'}), n.reason && [': ', words(n.reason, 200)]),
      session.role === 'admin' && (n.drained ? deed(t('cluster.undrain'), async () => { await post(`/nodes/${part(n.name)}/undrain`); await load(); }, 'second small')
        : deed(t('cluster.drain'), async () => {
          const answer = await prompt(t('cluster.drain.title', {node: n.name}), [{name: 'reason', label: t('cluster.reason'), required: true}]);
          if (!answer) return;
          await post(`/nodes/${part(n.name)}/drain`, {reason: answer.reason});
          await load();
        }, 'second small')));
  }
  // What of a node, or a device, is known, in words.
  function known(values) {
    return Object.entries(kViews).filter(([, v]) => values && v.of(values) !== null && v.of(values) !== undefined).map(([name, v]) => `${t(`cluster.by.${name}`)} ${v.text(v.of(values), values)}`);
  }
  const now = values => known(values).length ? h('p', {class: 'sub now'}, known(values).join(' · ')) : null;
  function device(use, i, values) {
    const who = use ? `#${use.job} · ${use.owner}` : t('cluster.free');
    const title = [`${i}: ${who}`, ...(known(values).length ? known(values) : use ? [t('cluster.unknown')] : [])].join('\n');
    const heat = kViews[view];
    const value = heat && values ? heat.of(values) ?? null : null;
    // A device that nobody uses and nothing is known of is just free.
    const kind = !heat ? use ? `used c${use.job % 6}` : '' : value !== null ? 'warm' : use ? 'unknown' : '';
    const attributes = {class: `device ${kind} ${heat && use ? `of c${use.job % 6}` : ''}`, title, vars: value !== null ? {'--heat': Math.round(100 * heat.part(value, most))} : {}};
    const text = value !== null ? heat.short(value) : kind === 'unknown' ? '?' : i;
    return use ? h('a', {...attributes, href: `#/jobs/${use.job}/brief`}, text) : h('span', attributes, text);
  }
  await load();
  life.every(5000, () => load().catch(() => {}));
}
