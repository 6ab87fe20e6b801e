import * as api from './api.js';
import {h, holdFocus, icon, Life, replace, svg, words} from './dom.js';
import {dropDraft} from './draft.js';
import {language, languages, speak, t, wanted} from './i18n.js';
import {errorBox} from './parts.js';

const solo = document.documentElement.dataset.mode === 'run';
const kPages = {
  'sign-in': () => import('./page_signin.js'), jobs: () => import('./page_jobs.js'), submit: () => import('./page_submit.js'),
  job: () => import('./page_job.js'), results: () => import('./page_results.js'), compare: () => import('./page_results.js'),
  cluster: () => import('./page_cluster.js'), usage: () => import('./page_usage.js'), admin: () => import('./page_admin.js'),
  run: () => import('./page_run.js')};
const app = document.getElementById('app');
let session = null;
let life = new Life();
let shown = 0;
let last = null;  // the page that is shown, without what it shows of it

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const words = path.split('/').map(decodeURIComponent);
  const parameters = Object.fromEntries(new URLSearchParams(query || ''));
  if (solo) return {name: 'run', tab: words[0] || 'metrics', parameters};
  if (words[0] === 'jobs' && words[1]) return {name: 'job', id: words[1], tab: words[2] || 'brief', parameters};
  if (!words[0]) return {name: 'jobs', parameters};
  return {name: words[0] in kPages && words[0] !== 'run' && words[0] !== 'job' ? words[0] : 'nowhere', parameters};
}

function theme(next) {
  if (next) localStorage.setItem('assay.theme', next);
  const kept = localStorage.getItem('assay.theme');
  const dark = kept ? kept === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  // The colors are the report's, in which only the system chooses: its rule is switched here.
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules)
      if (rule instanceof CSSMediaRule && (rule.forTheme || rule.conditionText.includes('prefers-color-scheme'))) {
        rule.forTheme = true;
        rule.media.mediaText = dark ? 'screen' : 'not all';
      }
  document.documentElement.style.colorScheme = dark ? 'dark' : 'light';
  return dark;
}

function bar(here) {
  const links = solo ? [] : [['jobs', 'nav.jobs'], ['submit', 'nav.submit'], ['results', 'nav.results'], ['cluster', 'nav.cluster'], ['usage', 'nav.usage'],
    ['admin', 'nav.admin']];
  const current = here === 'job' ? 'jobs' : here === 'compare' ? 'results' : here;
  return h('header', {class: 'bar'},
      h('a', {class: 'skip', href: '#main', onclick: e => { e.preventDefault(); document.getElementById('main').focus(); }}, t('skip')),
      h('a', {class: 'brand', href: '#/'}, svg('svg', {viewBox: '0 0 20 20', 'aria-hidden': 'true'}, svg('path', {d: 'M10 1.5l7.4 4.25v8.5L10 18.5l-7.4-4.25v-8.5z'}),
          svg('path', {d: 'M6.4 13.2L10 5.4l3.6 7.8M7.7 10.6h4.6'})), 'Assay'),
      h('nav', {'aria-label': t('nav')}, session && links.map(([name, key]) => h('a', {href: `#/${name}`, 'aria-current': name === current ? 'page' : null}, t(key)))),
      h('div', {class: 'tools'},
        h('button', {type: 'button', class: 'tool', title: t('theme'), 'aria-label': t('theme'), onclick: () => { theme(theme() ? 'light' : 'dark'); show(); }},
            icon('M15.5 12.3A6.5 6.5 0 0 1 7.7 4.5a6.5 6.5 0 1 0 7.8 7.8z')),
        h('select', {class: 'tool', 'aria-label': t('language'), onchange: e => say(e.target.value)},
            Object.entries(languages).map(([code, name]) => h('option', {value: code, selected: code === language}, name))),
        session && h('span', {class: 'who', title: session.role}, words(session.user, 24)),
        session && h('button', {type: 'button', class: 'tool text', onclick: signOut}, t('signout'))));
}

async function say(code) {
  localStorage.setItem('assay.language', code);
  await speak(code);
  show();
}

async function signOut() {
  dropDraft();
  try { await api.remove('/session'); } catch { /* it is over anyway */ }
  session = null;
  location.hash = '#/sign-in';
  show();
}

export async function show() {
  const mine = ++shown;
  // A question belongs to the page that asked it, unless it is asked of whoever has just come in.
  for (const dialog of document.querySelectorAll('dialog[open]:not([data-stays])')) dialog.close('');
  life.end();
  life = new Life();
  const place = route();
  if (!solo && !session && place.name !== 'sign-in') {
    try { session = await api.get('/session'); api.useCsrf(session.csrf); } catch (e) {
      if (mine !== shown) return;
      if (e.status === 401) {
        if (place.name !== 'jobs' || place.id) sessionStorage.setItem('assay.then', location.hash);
        location.hash = '#/sign-in';
        return;
      }
      replace(app, bar(''), h('main', {id: 'main', tabindex: '-1'}, errorBox(e)));
      return;
    }
    if (mine !== shown) return;
  }
  const main = h('main', {id: 'main', tabindex: '-1'});
  let module;
  if (place.name === 'nowhere') module = {render: () => { throw new Error(t('error.nowhere')); }};
  else try { module = await kPages[place.name](); } catch { module = {render: () => { throw new Error(t('error.unreachable')); }}; }
  if (mine !== shown) return;
  const here = `${place.name} ${place.id ?? ''}`;
  const held = holdFocus(app);
  const focus = () => {
    if (document.activeElement && document.activeElement !== document.body) return;
    if (here === last && held) held();
    else if (last !== null && here !== last) main.focus({preventScroll: true});  // not through the bar again
  };
  app.replaceChildren(bar(place.name), main);
  const context = {session, life, main, place, show, signedIn: s => { session = s; api.useCsrf(s.csrf); localStorage.setItem('assay.user', s.user); }};
  try { await module.render(context); } catch (e) { if (mine === shown) replace(main, errorBox(e)); }
  if (mine === shown) { focus(); last = here; }
  const title = main.querySelector('h1');
  document.title = title ? `${title.textContent.slice(0, 80)} · Assay` : 'Assay';
}

window.addEventListener('hashchange', show);
window.addEventListener('assay:signed-out', () => {
  if (!session) return;
  session = null;
  sessionStorage.setItem('assay.then', location.hash);
  location.hash = '#/sign-in';
});
// Another page of this browser has signed in as somebody else: this one says so, too.
window.addEventListener('storage', e => {
  if (e.key !== 'assay.user' || !session || e.newValue === session.user) return;
  session = null;
  show();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { theme(); show(); });
theme();
speak(wanted()).then(show);
