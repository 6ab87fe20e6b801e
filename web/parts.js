// Parts that several pages share.
import {h, icon, replace, words} from './dom.js';
import {t, term} from './i18n.js';

const kTones = {running: 'note', scheduling: 'note', finished: 'valid', failed: 'invalid', error: 'invalid', killed: 'incomplete',
                paused: 'incomplete', pausing: 'incomplete', killing: 'incomplete', unapproved: 'incomplete', queued: 'plain'};
const kIcons = {finished: 'M4 10.5l4 4 8-9', failed: 'M5 5l10 10M15 5L5 15', error: 'M5 5l10 10M15 5L5 15', killed: 'M5 10h10',
                running: 'M7 4.5v11l8.5-5.5z', scheduling: 'M7 4.5v11l8.5-5.5z', queued: 'M10 4v6l4 2', paused: 'M7 5v10M13 5v10',
                pausing: 'M7 5v10M13 5v10', killing: 'M5 10h10', unapproved: 'M10 5v6M10 14.5v.5'};
const kVerdicts = {valid: 'valid', invalid: 'invalid', incomplete: 'incomplete'};

export const stateChip = state => h('span', {class: `chip ${kTones[state] || 'plain'}`, 'data-state': state}, icon(kIcons[state] || 'M10 5v10'), term('state', state));
export function verdictChip(verdict) {
  const name = String(verdict || '').toLowerCase();
  return name && name !== 'none' ? h('span', {class: `chip ${kVerdicts[name] || 'plain'}`}, term('verdict', name)) : null;
}

export function errorBox(e) {
  return h('div', {class: 'finding invalid', role: 'alert'},
      h('p', {class: 'reason'}, e.code === 'unreachable' ? t('error.unreachable') : words(e.message, 600)),
      e.advice && h('p', {class: 'advice'}, words(e.advice, 600)),
      e.problems && e.problems.length ? h('ul', {}, e.problems.map(p => h('li', {}, p.path && h('code', {}, words(p.path, 100)), ' ', words(p.message, 400)))) : null);
}

export const button = (label, onclick, kind = '') => h('button', {type: 'button', class: kind, onclick}, label);

// A button for an action that may fail: it does nothing meanwhile (and keeps the focus, which one that is disabled loses), and its error is shown.
export function deed(label, what, kind = '') {
  let busy = false;
  const b = button(label, async () => {
    if (busy) return;
    busy = true;
    b.setAttribute('aria-disabled', 'true');
    try { await what(); } catch (e) { toast(e.code === 'unreachable' ? t('error.unreachable') : e.message, 'invalid'); }
    b.removeAttribute('aria-disabled');
    busy = false;
  }, kind);
  return b;
}

export function toast(text, tone = 'note') {
  let tray = document.querySelector('.toasts');
  if (!tray) document.body.append(tray = h('div', {class: 'toasts', role: 'status', 'aria-live': 'polite'}));
  const box = h('div', {class: `finding ${tone}`}, words(text, 400));
  tray.append(box);
  setTimeout(() => box.remove(), 6000);
}

export function confirm(text, label, otherwise = t('cancel')) {
  return new Promise(resolve => {
    const dialog = h('dialog', {onclose: () => { resolve(dialog.returnValue === 'yes'); dialog.remove(); }},
        Array.isArray(text) ? h('div', {}, text) : h('p', {}, text),
        h('form', {method: 'dialog', class: 'actions'}, h('button', {value: 'yes', class: 'danger'}, label), h('button', {value: '', class: 'second', autofocus: true}, otherwise)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// `stays`: through the next change of pages, which the sign-in makes itself.
export function prompt(title, fields, {stays = false} = {}) {
  return new Promise(resolve => {
    const inputs = fields.map(f => h(f.choices ? 'select' : 'input', {name: f.name, type: f.type || 'text', required: f.required, readonly: f.readonly, pattern: f.pattern, placeholder: f.placeholder, title: f.title, value: f.choices ? undefined : f.value ?? '', autocomplete: f.autocomplete || 'off'},
        f.choices && f.choices.map(c => h('option', {value: c, selected: c === f.value}, c))));
    const dialog = h('dialog', {'data-stays': stays, onclose: () => {
      resolve(dialog.returnValue === 'yes' ? Object.fromEntries(inputs.map(i => [i.name, i.value])) : null);
      dialog.remove();
    }}, h('h3', {}, title), h('form', {method: 'dialog', class: 'fields'},
        fields.map((f, i) => h('label', {}, f.label, inputs[i])),
        h('div', {class: 'actions'}, h('button', {value: 'yes'}, t('save')), h('button', {value: '', class: 'second', formnovalidate: true}, t('cancel')))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

export function table(headings, rows, empty) {
  if (!rows.length) return h('p', {class: 'empty'}, empty);
  return h('div', {class: 'scroll'}, h('table', {class: 'list'},
      h('thead', {}, h('tr', {}, headings.map(x => h('th', {class: x.n ? 'n' : ''}, x.title ?? x)))),
      h('tbody', {}, rows.map(r => h('tr', {}, r.map((cell, i) => h('td', {class: headings[i].n ? 'n' : '', 'data-label': headings[i].title ?? headings[i]}, cell)))))));
}

export function copyable(text) {
  const pre = h('pre', {tabindex: '0'}, text);
  return h('div', {class: 'copyable'}, pre, navigator.clipboard && button(t('copy'), async e => {
    await navigator.clipboard.writeText(pre.textContent);
    replace(e.target, t('copied'));
    setTimeout(() => replace(e.target, t('copy')), 1500);
  }, 'second small'));
}

export const pairs = list => h('dl', {class: 'kv'}, list.filter(p => p && p[1] !== null && p[1] !== undefined && p[1] !== '').map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
export const page = (title, ...children) => [h('div', {class: 'title'}, h('h1', {}, title)), ...children];
