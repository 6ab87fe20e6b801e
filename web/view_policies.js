// What administrators decide about nodes and about what jobs may do and leave: sections of the page of administration.
import {get, part, put} from './api.js';
import {h, words} from './dom.js';
import {duration, moment, number} from './format.js';
import {t} from './i18n.js';
import {confirm, deed, prompt, table, toast} from './parts.js';

const list = text => text.split(',').map(x => x.trim()).filter(Boolean);
// A moment as such an input has it, in the time of this place, and back.
function local(iso) {
  const at = iso ? new Date(iso) : new Date();
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

// `page`: {admin, section, change, gone, seen} of the page of administration.
export function reservations(page) {
  const edit = async (load, r = {}) => {
    const from = local(r.from), to = local(r.to || Date.now() + 3600e3);
    const answer = await prompt(t('admin.reservation'), [{name: 'name', label: t('admin.name'), value: r.name, required: true, readonly: Boolean(r.name)},
      {name: 'nodes', label: t('admin.reservation.nodes'), value: (r.nodes || []).join(', '), required: true},
      {name: 'from', label: t('admin.reservation.from'), type: 'datetime-local', value: from, required: true}, {name: 'to', label: t('admin.reservation.to'), type: 'datetime-local', value: to, required: true},
      {name: 'teams', label: t('admin.reservation.teams'), value: (r.teams || []).join(', ')}]);
    if (!answer) return;
    // What was not touched stays to the second.
    const time = (text, shown, was) => was && text === shown ? was : new Date(text).toISOString();
    const body = {nodes: list(answer.nodes), from: time(answer.from, from, r.from), to: time(answer.to, to, r.to), teams: list(answer.teams)};
    await page.change(() => put(`/reservations/${part(answer.name)}`, body, page.seen(r, answer.name)), load);
  };
  page.section(t('admin.reservations'), '/reservations', 'reservations', (rows, load) => table([t('admin.name'), t('admin.reservation.nodes'), t('admin.reservation.from'), t('admin.reservation.to'), t('admin.reservation.for'), ''],
    rows.map(r => [words(r.name), words(r.nodes.join(', '), 200), moment(r.from), moment(r.to), r.teams.length ? words(r.teams.join(', '), 100) : t('admin.reservation.nobody'),
      page.admin ? [deed(t('admin.edit'), () => edit(load, r), 'second small'), ' ', page.gone(`/reservations/${part(r.name)}`, r, load)] : '']), t('admin.reservations.none')), page.admin && edit);
}

export function idleLimits(page) {
  const path = '/policies/idle';
  const minutes = seconds => seconds ? String(seconds / 60) : '';
  const edit = async (load, now) => {
    const field = (name, value) => ({name, label: t(`admin.idle.${name}`), value: minutes(value), pattern: '[0-9]*(\\.[0-9]+)?', placeholder: t('admin.never')});
    const answer = await prompt(t('admin.idle'), [field('warn', now.warn_s), field('stop', now.stop_s)]);
    if (!answer) return;
    await page.change(() => put(path, {warn_s: Math.round(60 * answer.warn), stop_s: Math.round(60 * answer.stop)}, now.etag), load);
  };
  const said = seconds => seconds ? duration(seconds) : t('admin.never');
  page.section(t('admin.idle'), path, null, (now, load) => [h('p', {class: 'sub'}, t('admin.idle.words')), table([t('admin.idle.warned'), t('admin.idle.stopped'), ''], [[said(now.warn_s), said(now.stop_s),
    page.admin ? [deed(t('admin.edit'), () => edit(load, now), 'second small'), ' ', (now.warn_s || now.stop_s) ? deed(t('admin.remove'), async () => {
      if (await confirm(t('admin.idle.remove'), t('admin.remove'))) await page.change(() => put(path, {warn_s: 0, stop_s: 0}, now.etag), load);
    }, 'second small') : null] : '']], '')]);
}

// What would go, in words; null: nothing.
function ahead(preview) {
  const {jobs_total: jobs, logs_total: logs} = preview;
  if (!jobs && !logs) return null;
  const some = (rows, all) => [rows.map((j, i) => [i ? ', ' : '', h('a', {href: `#/jobs/${j.id}/brief`}, `#${j.id}`), ' ', words(j.name, 40)]), all > rows.length ? ' …' : ''];
  return [h('p', {}, t(preview.whole ? 'admin.retention.goes' : 'admin.retention.goes.least', {jobs: number(jobs, 7), logs: number(logs, 7)})),
    jobs ? h('p', {class: 'sub'}, t('admin.retention.which_jobs'), ' ', some(preview.jobs, jobs)) : null, logs ? h('p', {class: 'sub'}, t('admin.retention.which_logs'), ' ', some(preview.logs, logs)) : null];
}

export function retention(page) {
  const path = '/policies/retention';
  // Nothing is kept for less before everybody knows what goes.
  const change = async (load, now, next) => {
    const preview = await get(`${path}/preview`, next);
    const goes = ahead(preview);
    if (goes && !await confirm(goes, t('admin.retention.do'))) return;
    await page.change(() => put(path, next, now.etag), load);
    toast(t('admin.retention.done'));
  };
  const edit = async (load, now) => {
    const field = (name, value) => ({name, label: t(`admin.retention.${name}`), value: value ? String(value) : '', pattern: '[0-9]{0,5}', placeholder: t('admin.retention.ever')});
    const answer = await prompt(t('admin.retention'), [field('logs', now.logs_days), field('jobs', now.jobs_days)]);
    if (answer) await change(load, now, {logs_days: Number(answer.logs), jobs_days: Number(answer.jobs)});
  };
  const said = days => days ? t('admin.retention.days', {n: days}) : t('admin.retention.ever');
  page.section(t('admin.retention'), path, null, async (now, load) => {
    const goes = page.admin && (now.logs_days || now.jobs_days) ? ahead(await get(`${path}/preview`)) : null;
    return [h('p', {class: 'sub'}, t('admin.retention.words')), table([t('admin.retention.logs'), t('admin.retention.jobs'), ''], [[said(now.logs_days), said(now.jobs_days),
      page.admin ? [deed(t('admin.edit'), () => edit(load, now), 'second small'), ' ', (now.logs_days || now.jobs_days) ? deed(t('admin.remove'), async () => {
        if (await confirm(t('admin.retention.remove'), t('admin.remove'))) await page.change(() => put(path, {logs_days: 0, jobs_days: 0}, now.etag), load);
      }, 'second small') : null] : '']], ''),
      goes && h('div', {class: 'finding note'}, h('span', {class: 'sev'}, t('admin.retention.next')), goes)];
  });
}
