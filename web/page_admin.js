import {get, part, post, put, remove} from './api.js';
import {h, replace, words} from './dom.js';
import {moment} from './format.js';
import {t} from './i18n.js';
import {idleLimits, reservations, retention} from './view_policies.js';
import {button, confirm, copyable, deed, errorBox, page, prompt, table, toast} from './parts.js';

const rowsOf = (answer, name) => answer[name] || [];
// A form with anything else is not sent: a mistyped quota would be no limit.
const kQuota = {pattern: '\\s*([^=,:]+=\\s*\\d+\\s*(,[^=,:]+=\\s*\\d+\\s*)*)?', placeholder: 'H200=8, A100=4', title: 'H200=8, A100=4'};
const quota = text => Object.fromEntries(text.split(',').filter(x => x.trim()).map(x => x.split('=').map(y => y.trim())).map(([k, v]) => [k, Number(v)]));
const quotaText = map => Object.entries(map || {}).map(([k, v]) => `${k}=${v}`).join(', ');

export async function render({main, life, session}) {
  const admin = session.role === 'admin';
  const parts = [];
  replace(main, ...page(t('nav.admin')));
  const section = async (title, path, name, draw, add) => {
    const box = h('div', {});
    const load = async () => {
      try {
        const answer = await get(path);
        const drawn = await draw(name ? rowsOf(answer, name) : answer, load);
        if (!life.over) replace(box, drawn);
      } catch (e) { replace(box, e.status === 403 ? h('p', {class: 'empty'}, t('admin.forbidden')) : errorBox(e)); }
    };
    main.append(h('section', {}, h('div', {class: 'toolbar'}, h('h2', {class: 'grow'}, title), add && deed(t('admin.add'), () => add(load), 'small')), box));
    parts.push(load());
  };
  // Also if somebody else was faster: then the current state is shown.
  const change = async (what, load) => { try { await what(); } finally { await load(); } };
  // The state that was shown; null: the object is new.
  const seen = (r, name) => r.name === name ? r.etag : null;
  const gone = (path, r, load) => deed(t('admin.remove'), async () => { if (await confirm(t('admin.remove.sure', {what: r.name}), t('admin.remove'))) await change(() => remove(path, r.etag), load); }, 'second small');

  section(t('admin.tokens'), '/tokens', 'tokens', (rows, load) => table([t('admin.name'), t('admin.made'), t('admin.expires'), ''], rows.map(r => [words(r.name), moment(r.made), moment(r.expires), gone(`/tokens/${part(r.name)}`, r, load)]), t('admin.tokens.none')),
    async load => {
      const answer = await prompt(t('admin.tokens.new'), [{name: 'name', label: t('admin.name'), required: true}]);
      if (!answer) return;
      const made = await post('/tokens', {name: answer.name});
      await load();
      const dialog = h('dialog', {}, h('h3', {}, t('admin.tokens.once')), copyable(made.token), h('form', {method: 'dialog', class: 'actions'}, h('button', {}, t('close'))));
      document.body.append(dialog);
      dialog.showModal();
    });
  const own = scope => scope === 'own';
  const secret = async (load, r = {}) => {
    const scopes = r.scope ? [r.scope] : ['own', ...(session.teams || []).map(x => `team:${x}`)];
    const answer = await prompt(t(r.name ? 'admin.secrets.replace' : 'admin.secrets.new'), [{name: 'name', label: t('admin.name'), value: r.name, required: true, readonly: Boolean(r.name), pattern: '[A-Za-z0-9_@][A-Za-z0-9_.@\\-]{0,63}', title: 'HF_TOKEN'}, {name: 'scope', label: t('submit.scope'), choices: scopes, value: scopes[0]},
      {name: 'value', label: t('env.value'), type: 'password', autocomplete: 'new-password', required: true}]);
    if (!answer) return;
    await change(() => put(`/secrets/${part(answer.scope)}/${part(answer.name)}`, {value: answer.value}, seen(r, answer.name)), load);
  };
  section(t('admin.secrets'), '/secrets', 'secrets', (rows, load) => [h('p', {class: 'sub'}, t('admin.secrets.about')), table([t('admin.name'), t('admin.secrets.of'), t('admin.secrets.by'), t('admin.made'), ''], rows.map(r => [[words(r.name), r.usable ? null : h('span', {class: 'sub'}, t('admin.secrets.lost'))], own(r.scope) ? t('admin.secrets.mine') : words(r.scope.replace(/^team:/, '')), words(r.author, 40), moment(r.changed),
    [deed(t('admin.secrets.replace'), () => secret(load, r), 'second small'), ' ', gone(`/secrets/${part(r.scope)}/${part(r.name)}`, r, load)]]), t('admin.secrets.none'))], session.role !== 'viewer' && secret);
  if (admin) {
    const user = async (load, r = {}) => {
      const answer = await prompt(t('admin.user'), [{name: 'name', label: t('admin.name'), value: r.name, required: true, readonly: Boolean(r.name)}, {name: 'full_name', label: t('admin.full_name'), value: r.full_name}, {name: 'role', label: t('admin.role'), choices: ['member', 'viewer', 'admin'], value: r.role || 'member'},
        {name: 'password', label: t('admin.password'), type: 'password', autocomplete: 'new-password'}]);
      if (!answer) return;
      const body = {full_name: answer.full_name, role: answer.role};
      if (answer.password) body.password = answer.password;
      await change(() => put(`/users/${part(answer.name)}`, body, seen(r, answer.name)), load);
    };
    section(t('admin.users'), '/users', 'users', (rows, load) => table([t('admin.name'), t('admin.full_name'), t('admin.role'), t('admin.state'), ''], rows.map(r => [words(r.name), words(r.full_name, 60), t(`role.${r.role}`), t(r.disabled ? 'admin.disabled' : 'admin.active'),
      [deed(t('admin.edit'), () => user(load, r), 'second small'), ' ', r.name !== session.user && gone(`/users/${part(r.name)}`, r, load)]]), '–'), user);
  }
  const team = async (load, r = {}) => {
    const answer = await prompt(t('admin.team'), [{name: 'name', label: t('admin.name'), value: r.name, required: true, readonly: Boolean(r.name)}, {name: 'members', label: t('admin.members'), value: (r.members || []).join(', ')}, {name: 'weight', label: t('admin.weight'), type: 'number', value: r.weight ?? 1},
      {name: 'quota', label: t('admin.quota'), value: quotaText(r.quota), ...kQuota}, {name: 'user_quota', label: t('admin.user_quota'), value: quotaText(r.user_quota), ...kQuota}]);
    if (!answer) return;
    const body = {weight: Number(answer.weight) || 1, quota: quota(answer.quota), user_quota: quota(answer.user_quota), members: answer.members.split(',').map(m => m.trim()).filter(Boolean)};
    await change(() => put(`/teams/${part(answer.name)}`, body, seen(r, answer.name)), load);
  };
  section(t('admin.teams'), '/teams', 'teams', (rows, load) => table([t('admin.name'), t('admin.members'), {title: t('admin.weight'), n: true}, t('admin.quota'), t('admin.user_quota'), ''], rows.map(r => [words(r.name), words((r.members || []).join(', '), 200), r.weight, words(quotaText(r.quota)), words(quotaText(r.user_quota)),
    admin ? [deed(t('admin.edit'), () => team(load, r), 'second small'), ' ', gone(`/teams/${part(r.name)}`, r, load)] : '']), t('admin.teams.none')), admin && team);
  const queue = async (load, r = {}) => {
    const answer = await prompt(t('admin.queue'), [{name: 'name', label: t('admin.name'), value: r.name, required: true, readonly: Boolean(r.name)}, {name: 'priority', label: t('field.priority'), type: 'number', value: r.priority ?? 0}, {name: 'closed', label: t('admin.closed'), choices: ['no', 'yes'], value: r.closed ? 'yes' : 'no'}, {name: 'preempts', label: t('admin.preempts'), choices: ['no', 'yes'], value: r.preempts === false ? 'no' : 'yes'}, {name: 'approval', label: t('admin.approval'), choices: ['no', 'yes'], value: r.approval ? 'yes' : 'no'}]);
    if (!answer) return;
    const body = {priority: Number(answer.priority) || 0, closed: answer.closed === 'yes', preempts: answer.preempts === 'yes', approval: answer.approval === 'yes', partition: r.partition || '', account: r.account || '', qos: r.qos || ''};
    await change(() => put(`/queues/${part(answer.name)}`, body, seen(r, answer.name)), load);
  };
  section(t('admin.queues'), '/queues', 'queues', (rows, load) => table([t('admin.name'), {title: t('field.priority'), n: true}, t('admin.state'), {title: t('jobs.waiting'), n: true}, {title: t('jobs.running'), n: true}, ''], rows.map(r => [words(r.name), r.priority, t(r.closed ? 'admin.closed' : 'admin.open'), r.waiting ?? '–', r.running ?? '–',
    admin ? [deed(t('admin.edit'), () => queue(load, r), 'second small'), ' ', r.name !== 'default' && !r.engine && gone(`/queues/${part(r.name)}`, r, load)] : '']), '–'), admin && queue);
  const ofPage = {admin, section, change, gone, seen};
  reservations(ofPage);
  idleLimits(ofPage);
  retention(ofPage);
  if (admin)
    section(t('admin.audit'), '/audit?limit=100', 'deeds', rows => table([t('admin.when'), t('admin.who'), t('admin.what'), t('admin.subject'), {title: t('admin.status'), n: true}], rows.map(r => [moment(r.at), [words(r.who, 40), h('span', {class: 'sub'}, words(r.address, 60))], words(r.deed, 100), words(r.subject, 200), r.status]), '–'));
  await Promise.all(parts);
}
