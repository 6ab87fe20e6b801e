// An array of jobs as one: how its elements stand, and what is done to all or some of them.
import {post} from './api.js';
import {h, replace, words} from './dom.js';
import {number} from './format.js';
import {t, term} from './i18n.js';
import {confirm, deed, toast} from './parts.js';

// From what is done to what has not begun.
const kStates = ['finished', 'failed', 'error', 'killed', 'running', 'scheduling', 'killing', 'pausing', 'paused', 'queued', 'unapproved'];
const kDone = new Set(['finished', 'failed', 'error', 'killed']);

// A bar of the states with their numbers below it.
export function progress(all) {
  const states = kStates.filter(state => all.states[state]);
  const done = states.filter(state => kDone.has(state)).reduce((sum, state) => sum + all.states[state], 0);
  return [h('div', {class: 'progress', role: 'img', 'aria-label': t('array.done', {done, n: all.count})},
      states.map(state => h('i', {class: `of-${state}`, vars: {'--part': all.states[state]}, title: `${term('state', state)}: ${all.states[state]}`}))),
    h('span', {class: 'sub counts'}, states.map((state, i) => [i ? ' · ' : '', `${term('state', state)} `, h('b', {'data-count': state}, number(all.states[state], 7))]))];
}

// The server does what it can in a second and says where to go on.
export const onElements = (id, what, indices) => onMany(`/jobs/${id}/array/${what}`, {indices}, {});
export async function onMany(path, query, body) {
  const sum = {changed: 0, refused: 0, words: ''};
  let from;
  do {
    const answer = await post(path, body, {query: {...query, from}});
    sum.changed += answer.changed;
    sum.refused += answer.refused;
    sum.words ||= answer.words;
    from = answer.next;
  } while (from);
  return sum;
}

export function arrayHead(row, session, reload) {
  const bar = h('div', {});
  const name = h('p', {class: 'sub about'});
  const indices = h('input', {type: 'text', name: 'indices', placeholder: t('array.which'), 'aria-label': t('array.which'), pattern: '[0-9,:\\s-]*', autocomplete: 'off', spellcheck: 'false'});
  const may = session.role === 'admin' || (session.role === 'member' && row.owner === session.user);
  let id = row.id;
  const act = (what, kind) => deed(t(`deed.${what}`), async () => {
    const which = indices.value.replaceAll(/\s/g, '');
    if (what === 'kill' && !await confirm(which ? t('array.stop.some', {which}) : t('array.stop.sure', {n: row.elements.count}), t('deed.kill'))) return;
    const all = await onElements(id, what, which);
    toast(t(all.refused ? 'array.changed.some' : 'array.changed', {n: all.changed, refused: all.refused, words: all.words}), all.changed ? 'note' : 'invalid');
    await reload();
  }, kind);
  const element = h('div', {}, name, bar, may && h('div', {class: 'toolbar'}, indices, act('pause', 'second'), act('resume', 'second'), act('kill', 'danger')));
  return {element, show(now) {
    row = now;
    id = now.id;
    replace(name, h('b', {}, words(now.name, 120)), ' · ', words(now.owner, 40), now.team && [' · ', words(now.team, 40)], ' · ', t('array.elements', {n: now.elements.count}));
    replace(bar, progress(now.elements));
  }};
}
