import {get, part, post} from './api.js';
import {h, replace, words} from './dom.js';
import {t} from './i18n.js';
import {deed, page, pairs, prompt, table} from './parts.js';

export async function render({main, life, session}) {
  const map = h('div', {class: 'nodes'});
  const sums = h('div', {});
  const alarm = h('div', {});
  const strangers = h('section', {});
  replace(main, ...page(t('nav.cluster'), h('section', {}, alarm, sums, map, h('p', {class: 'legend'}, ['free', 'used', 'drained', 'lost'].map(k => h('span', {}, h('i', {class: `box ${k}`}), t(`cluster.${k}`))))), strangers));
  const load = async () => {
    const {nodes, trouble} = await get('/nodes');
    const others = (await get('/others')).jobs;
    if (!life.over) draw(nodes, trouble, others);
  };
  function draw(nodes, trouble, others) {
    replace(alarm, trouble ? h('div', {class: 'finding invalid'}, h('p', {class: 'reason'}, words(trouble, 500)), h('p', {class: 'where'}, t('cluster.stale'))) : null);
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
      h('div', {class: 'devices'}, owner.map((use, i) => use ? h('a', {class: `device used c${use.job % 6}`, href: `#/jobs/${use.job}/brief`, title: `${i}: #${use.job} · ${use.owner}`}, i) : h('span', {class: 'device', title: `${i}: ${t('cluster.free')}`}, i))),
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
  await load();
  life.every(5000, () => load().catch(() => {}));
}
