import {address, get, part, post, put} from './api.js';
import {h, replace} from './dom.js';
import {t} from './i18n.js';
import {confirm, errorBox, prompt, toast} from './parts.js';

// The outcomes of a sign-in by a provider other than a session.
const kFailures = ['denied', 'again', 'provider', 'taken', 'unknown', 'name', 'disabled', 'groups', 'last'];

async function showProvider(where) {
  let ways = {};
  try { ways = await get('/sign-in'); } catch { return; }  // name and password are there
  if (ways.provider)
    replace(where, h('div', {class: 'actions'}, h('a', {class: 'button', href: address('/session/oidc')}, t('signin.by', {provider: ways.provider}))));
}

// Asks before it switches accounts: the link's account may not be the one that is signed in here.
async function staysWho(before, how) {
  const {user} = await post('/session/preview', how);
  return user !== before.user && !await confirm(t('signin.switch', {now: before.user, next: user}), t('signin.switch.do', {next: user}), t('signin.switch.stay', {now: before.user}));
}

async function whoIsSignedIn() {
  try { return await get('/session'); } catch (error) { if (error.status === 401) return null; throw error; }
}

export async function render({main, place, life, signedIn}) {
  const go = session => {
    signedIn(session);
    const then = sessionStorage.getItem('assay.then');
    sessionStorage.removeItem('assay.then');
    // Only to a place of this page: nothing else begins with "#/".
    location.hash = then && then.startsWith('#/') && !then.startsWith('#/sign-in') ? then : '#/jobs';
  };
  const said = h('div', {});
  const name = h('input', {name: 'name', autocomplete: 'username', required: true, autofocus: true, maxlength: '100'});
  const password = h('input', {name: 'password', type: 'password', autocomplete: 'current-password', required: true});
  const form = h('form', {class: 'fields', onsubmit: async e => {
    e.preventDefault();
    form.querySelector('button').disabled = true;
    try { go(await post('/session', {name: name.value, password: password.value})); } catch (error) { replace(said, errorBox(error)); password.select(); }
    form.querySelector('button').disabled = false;
  }}, h('label', {}, t('signin.name'), name), h('label', {}, t('signin.password'), password), h('div', {class: 'actions'}, h('button', {}, t('signin.do'))));
  const elsewhere = h('div', {});
  replace(main, h('section', {class: 'door'}, h('h1', {}, t('signin.title')), h('p', {class: 'sub'}, t('signin.words')), said, elsewhere, form,
      h('p', {class: 'more'}, t('signin.link'))));
  showProvider(elsewhere);
  if (kFailures.includes(place.parameters.failed)) replace(said, h('p', {class: 'said invalid'}, t(`signin.failed.${place.parameters.failed}`)));
  // After a sign-in at a provider, a cookie has the outcome.
  const byProvider = place.parameters.by === 'provider';
  const how = byProvider ? {by: 'provider'} : {link: place.parameters.link};
  if (!byProvider && !how.link) {
    name.focus();
    // Another page of this browser may have signed in meanwhile.
    try { const now = place.parameters.failed ? null : await whoIsSignedIn(); if (now && !life.over) go(now); } catch { /* then here */ }
    return;
  }
  // A link works once: it does not stay in the address or the history.
  history.replaceState(null, '', '#/sign-in');
  replace(said, h('p', {class: 'said live'}, t('signin.busy')));
  try {
    const before = await whoIsSignedIn();
    if (before && await staysWho(before, how)) { go(before); return; }
    const session = await post('/session', how);
    go(session);
    if (before) toast(t('signin.as', {name: session.user}));
    if (session.password_set !== false || byProvider) return;
    const answer = await prompt(t('signin.first', {name: session.user}), [{name: 'password', label: t('signin.choose'), type: 'password', autocomplete: 'new-password'}], {stays: true});
    if (!answer || !answer.password) return;
    try { await put(`/users/${part(session.user)}`, {password: answer.password}); toast(t('signin.kept')); } catch (error) { toast(error.message, 'invalid'); }
  } catch (error) { replace(said, errorBox(error)); }
}
