import {address, get} from './api.js';
import {h, replace, words} from './dom.js';
import {moment} from './format.js';
import {language, t} from './i18n.js';
import {errorBox, page, table, verdictChip} from './parts.js';

export async function render(context) {
  if (context.place.name === 'compare') return compare(context);
  const {main, life} = context;
  const [answer, pushed] = await Promise.all([get('/jobs', {state: 'finished,failed', order: 'ended', descending: 1, limit: 100}), get('/pushed', {limit: 100})]);
  if (life.over) return;
  const chosen = new Set();
  const go = h('a', {class: 'button', 'aria-disabled': 'true'}, t('results.compare'));
  const choose = (id, on) => {
    if (on) chosen.add(id); else chosen.delete(id);
    go.setAttribute('aria-disabled', String(chosen.size < 2));
    if (chosen.size > 1) go.href = `#/compare?ids=${[...chosen].join(',')}`; else go.removeAttribute('href');
  };
  replace(main, ...page(t('nav.results'),
    h('section', {}, h('div', {class: 'toolbar'}, h('h2', {class: 'grow'}, t('results.jobs')), go),
      table(['', t('jobs.col.id'), t('jobs.col.name'), t('jobs.col.owner'), t('brief.ended'), t('jobs.col.verdict'), ''], answer.jobs.map(j => [
        h('input', {type: 'checkbox', 'aria-label': t('jobs.choose', {id: j.id}), onchange: e => choose(j.id, e.target.checked)}), h('a', {href: `#/jobs/${j.id}/report`}, `#${j.id}`), words(j.name, 80), words(j.owner, 30), moment(j.ended), verdictChip(j.verdict),
        h('a', {href: `#/jobs/${j.id}/report`}, t('job.report'))]), t('results.empty'))),
    h('section', {}, h('h2', {}, t('results.tester')), h('p', {class: 'sub'}, t('results.tester.words')),
      pushed.tests.length ? table(['', t('results.test'), t('jobs.col.name'), t('results.machine'), t('brief.ended'), t('jobs.col.verdict')], pushed.tests.map(x => [
        h('input', {type: 'checkbox', 'aria-label': t('results.choose', {id: x.id}), onchange: e => choose(`test:${x.id}`, e.target.checked)}), h('a', {href: `/tests/${x.id}`}, x.id), words(x.name, 80), words(x.machine, 60), moment(x.finished), verdictChip(x.verdict)])) : null,
      h('p', {class: 'actions'}, h('a', {href: '/tests'}, t('results.tests')), h('a', {class: 'second', href: '/leaderboard'}, t('results.board'))))));
}

async function compare({main, place, life}) {
  const ids = String(place.parameters.ids || '').split(/[ ,]+/).map(x => x.replace(/^(#|job:)/, '')).filter(x => /^([1-9][0-9]{0,15}|test:[0-9A-Za-z-]+)$/.test(x));
  const input = h('input', {name: 'ids', value: ids.join(', '), required: true, pattern: '[0-9A-Za-z:#, \\-]+', placeholder: '12, 15, test:20261115-ab3dE9', 'aria-label': t('compare.ids')});
  const url = address('/jobs/compare.html', {ids: ids.join(',')});
  const open = h('a', {class: 'button second', hidden: true, href: url, target: '_blank', rel: 'noopener'}, t('report.open'));
  const out = h('div', {class: 'grow'});
  replace(main, ...page(t('results.compare'), h('section', {class: 'tabbed'}, h('form', {class: 'toolbar', onsubmit: e => { e.preventDefault(); location.hash = `#/compare?ids=${input.value.split(/[ ,]+/).filter(Boolean).join(',')}`; }},
      h('label', {}, t('compare.ids'), ' ', input), h('button', {}, t('results.compare')), open), out)));
  if (ids.length < 2) { replace(out, h('p', {class: 'empty'}, t('compare.two'))); return; }
  // A frame cannot say why it is empty: the reason why jobs cannot be compared is shown here.
  try {
    await get('/jobs/compare', {ids: ids.join(',')});
  } catch (e) {
    if (!life.over) replace(out, errorBox(e));
    return;
  }
  if (life.over) return;
  open.hidden = false;
  out.replaceWith(h('iframe', {class: 'report', sandbox: 'allow-scripts allow-popups', title: t('results.compare'), src: `${url}#lang=${language}`}));
}
