import {part, post, put} from './api.js';
import {h, replace} from './dom.js';
import {t} from './i18n.js';
import {errorBox, prompt, toast} from './parts.js';

export async function render({main, place, signedIn}) {
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
  replace(main, h('section', {class: 'door'}, h('h1', {}, t('signin.title')), h('p', {class: 'sub'}, t('signin.words')), said, form,
      h('p', {class: 'more'}, t('signin.link'))));
  if (!place.parameters.link) { name.focus(); return; }
  // A link works once: it does not stay in the address or the history.
  const link = place.parameters.link;
  history.replaceState(null, '', '#/sign-in');
  replace(said, h('p', {class: 'said live'}, t('signin.busy')));
  try {
    const session = await post('/session', {link});
    go(session);
    if (session.password_set !== false) return;
    const answer = await prompt(t('signin.first', {name: session.user}), [{name: 'password', label: t('signin.choose'), type: 'password', autocomplete: 'new-password'}]);
    if (!answer || !answer.password) return;
    try { await put(`/users/${part(session.user)}`, {password: answer.password}); toast(t('signin.kept')); } catch (error) { toast(error.message, 'invalid'); }
  } catch (error) { replace(said, errorBox(error)); }
}
