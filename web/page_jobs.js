import {get, stream} from './api.js';
import {h, replace, words} from './dom.js';
import {ago, duration, moment, number} from './format.js';
import {t, term} from './i18n.js';
import {arrayHead, onElements, onMany, progress} from './view_array.js';
import {button, confirm, deed, errorBox, stateChip, toast, verdictChip} from './parts.js';

const kPage = 50;
const kGroups = {all: '', open: 'unapproved,queued,scheduling,running,pausing,paused,killing', running: 'running', waiting: 'unapproved,queued,scheduling,paused',
                 finished: 'finished', failed: 'failed,error,killed'};
const kColumns = [['id', null], ['name', 'name'], ['state', 'state'], ['owner', 'owner'], ['devices', 'devices'], ['submitted', 'submitted'], ['took', 'ran'], ['verdict', null]];
const kOpen = new Set(kGroups.open.split(','));

export async function render({main, place, session, life}) {
  const p = place.parameters;
  const filter = {array: Number.isSafeInteger(Number(p.array)) ? Number(p.array) : 0, group: p.show in kGroups ? p.show : 'all', search: p.search || '', order: p.order || 'submitted', descending: p.array ? p.up === '0' : p.up !== '1', offset: Number(p.offset) || 0, mine: p.mine === '1'};
  const chosen = new Map();  // number → the row
  const list = h('div', {});
  const whole = h('section', {class: 'array', hidden: true});
  const bulk = h('div', {class: 'toolbar bulk', hidden: true});
  let rows = [], total = 0;

  const address = change => {
    const f = {...filter, ...change};
    const q = new URLSearchParams();
    if (f.array) q.set('array', f.array);
    if (f.group !== 'all') q.set('show', f.group);
    if (f.search) q.set('search', f.search);
    if (f.order !== 'submitted') q.set('order', f.order);
    // The elements of an array come in their order.
    if (Boolean(f.array) === f.descending) q.set('up', f.array ? '0' : '1');
    if (f.mine) q.set('mine', '1');
    if (f.offset) q.set('offset', f.offset);
    return '#/jobs' + (q.size ? '?' + q : '');
  };
  const search = h('input', {type: 'search', name: 'search', value: filter.search, placeholder: t('jobs.search'), 'aria-label': t('jobs.search'), maxlength: '200'});
  const filters = h('form', {class: 'toolbar', role: 'search', onsubmit: e => { e.preventDefault(); location.hash = address({search: search.value, offset: 0}); }},
      h('div', {class: 'filters'}, Object.keys(kGroups).map(g => h('a', {href: address({group: g, offset: 0}), class: g === filter.group ? 'on' : '', 'aria-current': g === filter.group ? 'true' : null}, t(`jobs.${g}`)))),
      h('label', {class: 'check'}, h('input', {type: 'checkbox', checked: filter.mine, onchange: e => { location.hash = address({mine: e.target.checked, offset: 0}); }}), t('jobs.mine')),
      h('span', {class: 'grow'}, search));
  replace(main, filter.array ? h('p', {class: 'back'}, h('a', {href: '#/jobs'}, t('job.back'))) : null, h('div', {class: 'title'}, h('h1', {}, filter.array ? t('array.title', {id: filter.array}) : t('nav.jobs')), session.role !== 'viewer' && h('a', {class: 'button', href: '#/submit'}, t('jobs.new'))),
      whole, h('section', {}, filters, bulk, list));

  function drawBulk() {
    bulk.hidden = !chosen.size;
    const ids = [...chosen.keys()];
    const jobs = [...chosen.values()].reduce((sum, row) => sum + (row.elements ? row.elements.count : 1), 0);
    const arrays = [...chosen.values()].some(row => row.elements);
    replace(bulk, h('b', {}, t('jobs.chosen', {n: jobs})),
        deed(t('jobs.stop'), async () => {
          if (!await confirm(t('jobs.stop.sure', {n: jobs}), t('jobs.stop'))) return;
          let done = 0, failed = 0;
          const single = [...chosen].filter(([, row]) => !row.elements).map(([id]) => id);
          const asked = [...chosen].filter(([, row]) => row.elements).map(([id]) => () => onElements(id, 'kill'));
          if (single.length) asked.push(() => onMany('/jobs/kill', {}, {jobs: single.join(',')}));
          for (const ask of asked)
            try { const all = await ask(); done += all.changed; failed += all.refused; } catch { ++failed; }
          toast(t(failed ? 'jobs.stop.some' : 'jobs.stop.done', {n: done, failed}), failed ? 'invalid' : 'note');
          chosen.clear();
          await load();
        }, 'danger'),
        h('a', {class: 'button second', href: ids.length > 1 && !arrays ? `#/compare?ids=${ids.join(',')}` : null, 'aria-disabled': String(ids.length < 2 || arrays)}, t('jobs.compare')),
        button(t('jobs.none'), () => { chosen.clear(); draw(); }, 'second'));
  }

  function head() {
    return h('tr', {}, h('th', {}, h('input', {type: 'checkbox', 'aria-label': t('jobs.choose.all'), checked: rows.length > 0 && rows.every(r => chosen.has(r.id)),
      onchange: e => { for (const r of rows) if (e.target.checked) chosen.set(r.id, r); else chosen.delete(r.id); draw(); }})),
      kColumns.map(([name, order]) => h('th', {class: name === 'devices' || name === 'took' ? 'n' : '', 'aria-sort': order && order === filter.order ? (filter.descending ? 'descending' : 'ascending') : null},
        order ? h('a', {href: address({order, descending: order === filter.order ? !filter.descending : true, offset: 0})}, t(`jobs.col.${name}`)) : t(`jobs.col.${name}`))));
  }
  function line(job) {
    const took = job.ran_s !== undefined ? job.ran_s || null : job.started ? ((job.ended ? new Date(job.ended) : new Date()) - new Date(job.started)) / 1000 : null;
    const all = job.elements;
    const page = all ? `#/jobs?array=${job.array}` : `#/jobs/${job.id}/brief`;
    const cell = (name, attributes, ...children) => h('td', {'data-label': t(`jobs.col.${name}`), ...attributes}, children);
    return h('tr', {'data-job': job.id}, h('td', {class: 'choose'}, h('input', {type: 'checkbox', checked: chosen.has(job.id), 'aria-label': t('jobs.choose', {id: job.id}),
        onchange: e => { if (e.target.checked) chosen.set(job.id, job); else chosen.delete(job.id); drawBulk(); }})),
      cell('id', {class: 'id'}, h('a', {href: page}, `#${all ? job.array : job.id}`)),
      cell('name', {class: 'name'}, h('a', {href: page}, words(job.name, 80), job.array_index !== null && !all && `[${job.array_index}]`), all && h('span', {class: 'sub'}, t('array.elements', {n: all.count})), !all && kOpen.has(job.state) && job.pending ? h('span', {class: 'sub'}, words(job.pending, 160)) : null),
      cell('state', {class: all ? 'all' : ''}, all ? progress(all) : stateChip(job.state)),
      cell('owner', {}, words(job.owner, 30), job.team && h('span', {class: 'sub'}, words(job.team, 30))),
      cell('devices', {class: 'n'}, job.devices, h('span', {class: 'sub'}, words(job.device_type, 20))),
      cell('submitted', {}, h('time', {title: job.submitted}, moment(job.submitted)), job.place ? h('span', {class: 'sub'}, t('jobs.place', {n: job.place}), job.estimated_start && ` · ${ago(job.estimated_start)}`) : null),
      cell('took', {class: 'n'}, all ? '–' : duration(took)),
      cell('verdict', {}, all && Object.keys(all.verdicts).length ? Object.entries(all.verdicts).map(([verdict, n]) => h('span', {class: 'counted'}, verdictChip(verdict), ` × ${n} `)) : verdictChip(job.verdict) ?? h('span', {class: 'sub'}, '–')));
  }
  function draw() {
    drawBulk();
    if (!rows.length) {
      replace(list, h('p', {class: 'empty'}, t(filter.search || filter.group !== 'all' || filter.mine ? 'jobs.empty.filter' : 'jobs.empty'), ' ', session.role !== 'viewer' && h('a', {href: '#/submit'}, t('jobs.new'))));
      return;
    }
    const last = Math.min(filter.offset + rows.length, total);
    replace(list, h('div', {class: 'scroll'}, h('table', {class: 'list cards-on-phone'}, h('thead', {}, head()), h('tbody', {}, rows.map(line)))),
        h('nav', {class: 'pages', 'aria-label': t('pages')},
          filter.offset > 0 && h('a', {href: address({offset: Math.max(filter.offset - kPage, 0)})}, t('pages.before')),
          t('pages.of', {from: filter.offset + 1, to: last, total: number(total, 7)}),
          last < total && h('a', {href: address({offset: filter.offset + kPage})}, t('pages.next'))));
  }
  let drawn = null;
  function drawArray(row) {
    whole.hidden = !row;
    if (!row) return;
    // What somebody types there stays while the numbers change.
    if (!drawn) { drawn = arrayHead(row, session, load); replace(whole, drawn.element); }
    drawn.show(row);
  }
  async function load() {
    const [answer, one] = await Promise.all([get('/jobs', {arrays: filter.array ? '' : 1, array: filter.array || '', state: kGroups[filter.group], search: filter.search, owner: filter.mine ? session.user : '', order: filter.order, descending: filter.descending ? 1 : 0, offset: filter.offset, limit: kPage}),
      filter.array ? get('/jobs', {arrays: 1, array: filter.array, limit: 1}) : null]);
    if (life.over) return;
    rows = answer.jobs;
    total = answer.total;
    if (one) drawArray(one.jobs[0]);
    draw();
  }
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(async () => { waiting = false; if (!life.over) { try { await load(); } catch { /* the next event tries again */ } } }, 300);
  };
  try { await load(); } catch (e) { replace(list, errorBox(e)); }
  life.add(stream('/events', {}, {job: soon, listening: soon}, () => life.every(5000, soon)));
  life.every(30000, soon);
}
