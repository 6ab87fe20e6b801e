// One run, without a server: assay run --web.
import {get} from './api.js';
import {h, replace, words} from './dom.js';
import {t} from './i18n.js';
import {tabs} from './tabs.js';
import {consoleView} from './view_console.js';
import {metricsView} from './view_metrics.js';

export async function render({main, place, life}) {
  const run = await get('/run');
  const state = h('span', {class: 'sub', role: 'status'});
  const body = h('section', {class: 'tabbed'});
  replace(main, h('div', {class: 'title'}, h('h1', {}, words(run.suite || run.run)), state),
      tabs(['metrics', 'console'], place.tab, tab => `#/${tab}`), body);
  body.append(place.tab === 'console' ? consoleView('/log', {}, life) : metricsView('/metrics', {}, life));
  const say = r => replace(state, words(r.run), ' · ', t(r.ended ? 'run.ended' : 'run.going'),
      r.progress && ` · ${r.progress.case ?? ''} ${t('run.rounds', {n: r.progress.rounds_done ?? 0, of: r.progress.rounds_total ?? 0})}`);
  say(run);
  life.every(2000, async () => { try { say(await get('/run')); } catch { replace(state, t('run.gone')); } });
}
