import {address, get, getText, patch, post, remove, stream} from './api.js';
import {h, replace, words} from './dom.js';
import {ago, duration, moment} from './format.js';
import {language, t, term} from './i18n.js';
import {button, confirm, copyable, deed, errorBox, pairs, prompt, stateChip, table, toast, verdictChip} from './parts.js';
import {tabs} from './tabs.js';
import {endpointsView} from './view_endpoints.js';
import {consoleView} from './view_console.js';
import {metricsView} from './view_metrics.js';

const kTabs = ['brief', 'endpoints', 'metrics', 'console', 'report'];
const kEnded = new Set(['killed', 'finished', 'failed', 'error']);

export async function render({main, place, life}) {
  const id = Number(place.id);
  const base = `/jobs/${id}`;
  const tab = kTabs.includes(place.tab) ? place.tab : 'brief';
  if (!Number.isSafeInteger(id) || id < 1) throw new Error(t('job.no'));
  let job = await get(base);
  if (life.over) return;
  const head = h('div', {class: 'title job'});
  const deeds = h('div', {class: 'actions'});
  const pending = h('div', {});
  const body = h('section', {class: 'tabbed'});
  const attempt = Number(place.parameters.attempt) || undefined;
  replace(main, h('p', {class: 'back'}, h('a', {href: '#/jobs'}, t('job.back'))), head, pending, tabs(kTabs, tab, x => `#/jobs/${id}/${x}`), body);

  const may = deed => (job.may || []).includes(deed);
  const can = {approve: job => job.state === 'unapproved' && may('approve_job'), reject: job => job.state === 'unapproved' && may('approve_job'),
               pause: job => ['queued', 'scheduling', 'running'].includes(job.state) && may('stop_job'), resume: job => ['paused', 'pausing'].includes(job.state) && may('stop_job'),
               kill: job => !kEnded.has(job.state) && may('stop_job')};
  function drawHead() {
    replace(head, h('div', {}, h('h1', {}, words(job.name, 120)), h('p', {class: 'sub about'}, `#${id}`, stateChip(job.state), verdictChip(job.verdict), h('span', {}, words(job.owner, 40), job.team && ' · ', words(job.team, 40)), job.array && h('a', {href: `#/jobs?array=${job.array}`}, t('array.element', {id: job.array, index: job.array_index})))), deeds);
    replace(deeds, Object.keys(can).filter(x => can[x](job)).map(x => deed(t(`deed.${x}`), async () => {
      if (x === 'kill' && !await confirm(t('deed.kill.sure', {id}), t('deed.kill'))) return;
      await post(`${base}/${x}`);
      await reload();
    }, x === 'kill' || x === 'reject' ? 'danger' : 'second')),
      h('a', {class: 'button second', href: `#/submit?clone=${id}`}, t('deed.clone')),
      may('submit_job') || may('stop_job') ? deed(t('deed.rerun'), async () => { const r = await post(`${base}/rerun`); location.hash = `#/jobs/${r.jobs[0].id}/brief`; }, 'second') : null,
      kEnded.has(job.state) && may('delete_job') ? deed(t('deed.delete'), async () => {
        if (await confirm(t('deed.delete.sure', {id}), t('deed.delete'))) { await remove(base); location.hash = '#/jobs'; }
      }, 'danger') : null);
    const why = job.pending && (job.pending.words || job.pending);
    replace(pending, why ? h('div', {class: 'finding note'}, h('span', {class: 'sev'}, t('job.waits')), words(why, 500),
        job.estimated_start && h('p', {class: 'where'}, t('job.starts', {time: ago(job.estimated_start)}), job.place ? ` · ${t('jobs.place', {n: job.place})}` : '')) : null,
      job.life && job.life.message && kEnded.has(job.state) && job.state !== 'finished' ? h('div', {class: 'finding invalid'}, words(job.life.message, 800)) : null);
  }
  async function reload() {
    const before = job.state;
    job = await get(base);
    if (life.over) return;
    drawHead();
    if (tab === 'brief' || (tab === 'report' && !kEnded.has(job.state)) || (['report', 'endpoints'].includes(tab) && before !== job.state)) await draw();
  }
  async function draw() {
    if (tab === 'brief') await brief();
    else if (tab === 'endpoints') replace(body, endpointsView(base, job, life, may('share_job') && share));
    else if (job.logs_removed && tab !== 'report') replace(body, logsRemoved());
    else if (tab === 'metrics') replace(body, metricsView(base + '/metrics', {attempt}, life));
    else if (tab === 'console') replace(body, consoleView(base + '/log', {attempt}, life));
    else await report();
  }

  async function brief() {
    const s = job.submission || {};
    const l = job.life || {};
    const [suite, timeline] = await Promise.all([getText(`${base}/suite`).catch(() => ''), get(`${base}/timeline`).catch(() => ({events: []}))]);
    if (life.over) return;
    const nodes = (l.placement || []).map(p => `${p.node}: ${p.devices}`).join(', ');
    replace(body, h('div', {class: 'two'},
      h('div', {}, h('h2', {}, t('brief.what')),
        s.command && copyable(s.command),
        pairs([[t('field.launch'), s.command && term('launch', s.launch || 'per-rank')], [t('brief.size'), t('brief.nodes', {nodes: s.nodes ?? 1, procs: s.procs ?? 1, devices: job.devices})],
          [t('field.device_type'), s.device_type || job.device_type ? words(s.device_type || job.device_type) : t('any')], [t('field.image'), s.image && words(s.image)], [t('field.queue'), words(job.queue)], [t('field.priority'), job.priority], [t('field.time'), s.time && words(s.time)],
          [t('field.array'), s.array && words(s.array)], [t('field.after'), s.after && s.after.length ? s.after.map(a => [h('a', {href: `#/jobs/${a}/brief`}, `#${a}`), ' ']) : null],
          [t('field.env'), s.env && Object.keys(s.env).length ? h('ul', {}, Object.entries(s.env).map(([k, v]) => h('li', {}, h('code', {}, words(`${k}=${v}`, 300))))) : null],
          [t('field.mounts'), s.mounts && s.mounts.length ? h('ul', {}, s.mounts.map(m => h('li', {}, h('code', {}, words(`${m.source} → ${m.target}`, 300))))) : null]]),
        suite && h('details', {}, h('summary', {}, t('brief.suite')), copyable(suite))),
      h('div', {}, h('h2', {}, t('brief.life')),
        pairs([[t('jobs.col.submitted'), h('time', {title: job.submitted}, moment(job.submitted))], [t('brief.started'), job.started && h('time', {title: job.started}, moment(job.started))],
          [t('brief.ended'), job.ended && h('time', {title: job.ended}, moment(job.ended))], job.logs_removed ? [t('brief.logs_removed'), moment(job.logs_removed)] : [t('brief.logs_until'), job.logs_until && moment(job.logs_until)], [t('brief.kept_until'), job.kept_until && moment(job.kept_until)], [t('brief.ran'), l.ran_s ? duration(l.ran_s) : job.started ? duration(((job.ended ? new Date(job.ended) : new Date()) - new Date(job.started)) / 1000) : null],
          [t('brief.where'), nodes && words(nodes, 400)], [t('brief.exit'), l.exit_code ?? null], [t('brief.cause'), l.cause && l.cause !== 'none' ? term('cause', l.cause) : null], [t('brief.restarts'), l.restarts || null],
          [t('brief.shared'), h('span', {}, (job.shared_with || []).map(u => [words(u, 40), ' ']), may('share_job') && button(t('brief.share'), share, 'second small'))]]),
        job.attempts && job.attempts.length > 1 ? table([t('brief.attempt'), t('brief.started'), t('brief.ended'), ''], job.attempts.map(a => [a.attempt, moment(a.started), moment(a.ended),
          a.run ? h('a', {href: `#/jobs/${id}/console?attempt=${a.attempt}`}, t('job.console')) : '']), '') : null,
        h('h2', {}, t('brief.timeline')),
        h('ol', {class: 'timeline'}, timeline.events.map(e => h('li', {class: e.to}, h('time', {title: e.at}, moment(e.at)), h('b', {}, term('event', e.event)), e.from !== e.to && h('span', {class: 'sub inline'}, term('state', e.to)),
          e.who && h('span', {class: 'sub inline'}, words(e.who, 40)), e.words && ![e.event, e.to].includes(e.words) && h('p', {class: 'sub'}, words(e.words, 400))))))));
  }
  const logsRemoved = () => h('p', {class: 'said'}, t('job.logs_removed', {time: moment(job.logs_removed)}));
  async function share() {
    const seen = job.etag;
    const answer = await prompt(t('brief.share'), [{name: 'users', label: t('brief.share.who'), value: (job.shared_with || []).join(', ')}]);
    if (!answer) return;
    try { await patch(base, {shared_with: answer.users.split(',').map(u => u.trim()).filter(Boolean)}, seen); } catch (e) { toast(e.message, 'invalid'); }
    await reload();
  }

  async function report() {
    const run = (job.attempts || []).some(a => a.run);
    if (!run) { replace(body, h('p', {class: 'empty'}, t('report.none'))); return; }
    if (kEnded.has(job.state)) {
      // A frame cannot say why it is empty: a run that was not judged may have no report.
      if (String(job.verdict || 'none').toLowerCase() === 'none') {
        try { await getText(`${base}/report`); } catch (e) { if (!life.over) replace(body, errorBox(e)); return; }
        if (life.over) return;
      }
      replace(body, job.logs_removed && logsRemoved(), h('div', {class: 'toolbar'}, h('a', {class: 'button second', href: address(`${base}/report`), target: '_blank', rel: 'noopener'}, t('report.open')), h('a', {class: 'button second', href: address(`${base}/result`), download: `job${id}-result.json`}, t('report.result'))),
        h('iframe', {class: 'report', sandbox: 'allow-scripts allow-popups', title: t('job.report'), src: `${address(`${base}/report`)}#lang=${language}`}));
      return;
    }
    try {
      const judgement = await get(`${base}/judgement`);
      if (!life.over) replace(body, h('p', {class: 'said live'}, t('report.sofar')), judgementView(judgement));
    } catch (e) {
      replace(body, h('p', {class: 'empty'}, e.status === 404 || e.status === 409 ? t('report.notyet') : e.message));
    }
  }

  drawHead();
  await draw();
  if (kEnded.has(job.state)) return;
  const soon = () => reload().catch(() => {});
  life.add(stream('/events', {}, {job: e => { if (e.id === id) soon(); }, listening: soon}, () => life.every(3000, soon)));
  life.every(15000, soon);
}

// result.json so far: cases with their verdicts, metrics and findings.
function judgementView(result) {
  return (result.cases || []).map(c => h('div', {class: 'case'}, h('header', {}, h('h2', {}, words(c.name || c.case, 120)), verdictChip(c.verdict || c.validity)),
      h('div', {class: 'findings'}, [...(c.findings || []), ...(c.rounds || []).flatMap(r => r.findings || [])].slice(0, 50).map(f => h('div', {class: `finding ${String(f.severity || 'note').toLowerCase()}`}, h('p', {class: 'reason'}, words(f.reason || f.message || f.rule, 500)), f.advice && h('p', {class: 'advice'}, words(f.advice, 500)))))));
}
