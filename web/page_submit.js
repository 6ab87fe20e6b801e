import {get, part, post, put} from './api.js';
import {h, replace, words} from './dom.js';
import {draftOf, dropDraft, keepDraft} from './draft.js';
import {ago, duration} from './format.js';
import {t, term} from './i18n.js';
import {button, copyable, deed, errorBox, prompt, toast} from './parts.js';
import {asCommand, asCurl} from './submission.js';

const kKinds = ['ssh', 'jupyter', 'tensorboard', 'vscode', 'port'];
// How long a command that ends with `sleep infinity` is kept open.
const kKeep = 'ASSAY_KEEP_OPEN';

export async function render({main, place, session, life}) {
  const draft = place.from || place.parameters.clone ? null : draftOf(session.user);
  let submission = {name: '', command: '', queue: 'default', ...(place.from || draft || {})};
  let folder = '';
  if (place.parameters.clone) {
    const job = await get(`/jobs/${Number(place.parameters.clone)}`);
    submission = {...job.submission};
    if (job.array_index !== null) submission.array = String(job.array_index);
    if (job.code) {
      // An upload belongs to the person who made it.
      const own = job.owner === session.user;
      if (own) submission.code = job.code;
      folder = own ? t('submit.code', {id: job.id}) : t('submit.code.other', {id: job.id, owner: words(job.owner, 40)});
    }
    if (job.team) submission.team = job.team;
  }
  const [queues, templates, teams] = await Promise.all([get('/queues').catch(() => ({})), get('/templates').catch(() => ({})), get('/nodes').catch(() => ({}))]);
  if (life.over) return;
  const listOf = (answer, name) => answer[name] || [];
  const types = [...new Set(listOf(teams, 'nodes').map(n => n.device_type).filter(Boolean))];
  const fields = new Map();    // path → {input, problem}
  const touched = new Set();
  let preview = null, view = 'yaml', tried = false;

  // One field: its label, its input, what is wrong with it.
  function field(name, input, hint) {
    const problem = h('span', {class: 'problem', id: `p-${name}`, role: 'alert'});
    input.id = `f-${name}`;
    input.setAttribute('aria-describedby', `p-${name}`);
    input.addEventListener('input', () => { touched.add(name); changed(); });
    fields.set(name, {input, problem});
    return h('div', {class: `field ${input.type === 'checkbox' ? 'check' : ''}`}, h('label', {for: `f-${name}`}, t(`field.${name}`)), input, hint && h('span', {class: 'sub'}, hint), problem);
  }
  const text = (name, attributes = {}) => h('input', {type: 'text', value: submission[name] ?? '', autocomplete: 'off', spellcheck: 'false', ...attributes});
  const count = (name, value) => h('input', {type: 'number', min: '1', step: '1', inputmode: 'numeric', value: submission[name] ?? value ?? ''});
  const choice = (name, values, labels, value) => h('select', {}, values.map((v, i) => h('option', {value: v, selected: v === (value ?? submission[name])}, labels ? labels[i] : v)));

  const kind = h('div', {class: 'segments', role: 'radiogroup', 'aria-label': t('submit.kind')}, ['command', 'suite'].map(k => h('label', {}, h('input', {type: 'radio', name: 'kind', value: k, checked: k === (submission.suite ? 'suite' : 'command'), onchange: () => { drawKind(); changed(); }}), h('span', {}, t(`submit.${k}`)))));
  const isSuite = () => kind.querySelector('input:checked').value === 'suite';
  const command = field('command', h('textarea', {rows: '4', spellcheck: 'false', class: 'code', value: submission.command ?? '', placeholder: 'torchrun --nproc-per-node 8 train.py'}));
  const suite = field('suite', h('textarea', {rows: '12', spellcheck: 'false', class: 'code', value: submission.suite ?? '', placeholder: 'cases:\n  - resnet20:libtorch:cpu:1:2:1'}));
  const launch = field('launch', choice('launch', ['per-rank', 'per-node', 'head'], ['per-rank', 'per-node', 'head'].map(l => term('launch', l))));
  const image = field('image', text('image', {placeholder: 'registry/name:tag'}), t('hint.image'));
  function drawKind() {
    command.hidden = launch.hidden = image.hidden = isSuite();
    suite.hidden = !isSuite();
  }

  // Lists: variables, mounts, endpoints.
  function rows(name, items, cells, hint) {
    const body = h('div', {class: 'rows-of'});
    const problem = h('span', {class: 'problem', role: 'alert'});
    fields.set(name, {input: body, problem});
    const add = item => {
      const inputs = cells(item);
      const row = h('div', {class: 'row'}, inputs, button('×', () => { row.remove(); changed(); }, 'second small'));
      row.lastChild.setAttribute('aria-label', t('admin.remove'));
      row.values = inputs;
      row.addEventListener('input', () => { touched.add(name); changed(); });
      body.append(row);
      return row;
    };
    items.forEach(add);
    return {element: h('div', {class: 'field wide'}, h('span', {class: 'label'}, t(`field.${name}`)), body, hint && h('span', {class: 'sub'}, hint), problem, button(t('admin.add'), () => { add(null).querySelector('input,select').focus(); }, 'second small')), body};
  }
  const small = (value, label, attributes) => h('input', {type: 'text', value: value ?? '', 'aria-label': label, placeholder: label, spellcheck: 'false', autocomplete: 'off', ...attributes});
  const env = rows('env', Object.entries(submission.env || {}).filter(([name]) => name !== kKeep), item => [small(item && item[0], t('env.name')), small(item && item[1], t('env.value'))]);
  const secrets = rows('secrets', Object.entries(submission.secrets || {}), item => [small(item && item[1], t('secrets.name')), small(item && item[0], t('secrets.variable'))], t('hint.secrets'));
  const mounts = rows('mounts', submission.mounts || [], m => [small(m && m.source, t('mount.source')), small(m && m.target, t('mount.target')), h('label', {class: 'check'}, h('input', {type: 'checkbox', checked: m && m.read_only}), t('mount.read_only'))]);
  const endpoints = rows('endpoints', submission.endpoints || [], e => [h('select', {'aria-label': t('endpoint.kind')}, kKinds.map(k => h('option', {value: k, selected: e && e.kind === k}, term('endpoint', k)))), small(e && e.name, t('endpoint.name')), small(e && e.port, t('endpoint.port'), {inputmode: 'numeric'})]);

  function read() {
    const value = name => fields.get(name).input.value.trim();
    const whole = name => value(name) === '' ? undefined : Number(value(name));
    const s = {name: value('name')};
    const give = (name, v) => { if (v !== undefined && v !== '' && v !== false && !(Array.isArray(v) && !v.length)) s[name] = v; };
    if (isSuite()) give('suite', fields.get('suite').input.value);
    else {
      give('command', fields.get('command').input.value.trim());
      if (value('launch') !== 'per-rank') give('launch', value('launch'));
      give('image', value('image'));
    }
    for (const name of ['nodes', 'procs', 'devices', 'priority']) give(name, whole(name));
    give('device_type', value('device_type'));
    give('whole_nodes', fields.get('whole_nodes').input.checked);
    give('queue', value('queue'));
    give('team', value('team'));
    give('preemptible', fields.get('preemptible').input.checked);
    give('time', value('time'));
    const retries = whole('retries');
    if (retries) {
      s.retries = {...(submission.retries || {}), count: retries};
      const codes = value('exit_codes').split(/[ ,]+/).filter(Boolean).map(Number);
      if (codes.length) s.retries.exit_codes = codes; else delete s.retries.exit_codes;
    }
    const variables = Object.fromEntries([...env.body.children].map(r => r.values.map(i => i.value)).filter(([k]) => k));
    if (value('keep') && !isSuite()) variables[kKeep] = value('keep');
    if (Object.keys(variables).length) s.env = variables;
    const given = [...secrets.body.children].map(r => r.values.map(i => i.value.trim())).filter(([name]) => name);
    if (given.length) s.secrets = Object.fromEntries(given.map(([name, variable]) => [variable || name, name]));
    give('mounts', [...mounts.body.children].map(r => ({source: r.values[0].value, target: r.values[1].value, ...(r.values[2].querySelector('input').checked ? {read_only: true} : {})})));
    give('endpoints', [...endpoints.body.children].map(r => ({kind: r.values[0].value, ...(r.values[1].value ? {name: r.values[1].value} : {}), ...(r.values[2].value ? {port: Number(r.values[2].value)} : {})})));
    give('after', value('after').split(/[ ,#]+/).filter(Boolean).map(Number));
    give('array', value('array'));
    give('code', submission.code);
    return s;
  }

  const side = h('div', {class: 'plan', 'aria-live': 'polite'});
  const send = deed(t('submit.do'), async () => {
    tried = true;
    try {
      const answer = await post('/jobs', {...read(), request_key: key});
      dropDraft();
      toast(t('submit.done', {n: answer.jobs.length, id: answer.jobs[0].id}));
      location.hash = answer.jobs.length > 1 ? '#/jobs' : `#/jobs/${answer.jobs[0].id}/brief`;
    } catch (e) {
      if (e.status !== 422 || !e.problems.length) throw e;
      preview = {problems: e.problems};
      draw();
      const first = [...fields.values()].find(f => f.problem.textContent);
      if (first) first.input.scrollIntoView({block: 'center'});
    }
  });
  send.id = 'send';
  // The same request again, after an answer that got lost, gives the same job.
  let key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);

  let timer = 0, asked = 0;
  function changed() {
    key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);
    clearTimeout(timer);
    timer = setTimeout(ask, 350);
    keepDraft(session.user, read());
    drawText();
  }
  async function ask() {
    const mine = ++asked;
    try {
      const answer = await post('/jobs/preview', read());
      if (mine !== asked || life.over) return;
      preview = answer;
    } catch (e) {
      if (mine !== asked || life.over) return;
      preview = e.problems && e.problems.length ? {problems: e.problems} : {problems: [], error: e};
    }
    draw();
  }
  // "mounts[1].target" belongs to mounts, "retries.exit_codes[0]" to exit_codes, "env.A" to env.
  function fieldOf(path) {
    if (path.startsWith('retries.exit_codes')) return 'exit_codes';
    return path.split(/[.[]/)[0];
  }
  function draw() {
    for (const f of fields.values()) { replace(f.problem, ''); f.input.removeAttribute('aria-invalid'); }
    const general = [];
    for (const p of preview.problems || []) {
      const name = fieldOf(p.path || '');
      const f = fields.get(name);
      // An empty field is not an error before somebody tries to submit.
      if (f && !tried && !touched.has(name)) continue;
      if (!f) { if (tried || touched.size > 1) general.push(p); continue; }
      f.input.setAttribute('aria-invalid', 'true');
      const deeper = (p.path || '').replace(/^[a-z_]+/, '');
      f.problem.append(h('span', {}, deeper ? `${deeper.replace(/^\./, '')}: ` : '', words(p.message, 300)));
    }
    const ok = !(preview.problems || []).length && !preview.error;
    const where = (preview.placement || []).map(p => `${p.node} (${p.devices})`).join(', ');
    replace(side, h('h2', {}, t('submit.plan')), preview.error ? errorBox(preview.error) : null, general.length ? errorBox({message: t('submit.problems'), problems: general}) : null,
      ok ? [h('div', {class: `finding ${preview.pending ? 'note' : 'valid'}`}, h('p', {class: 'reason'}, preview.pending ? words(preview.pending.words || preview.pending, 400) : t('submit.now')),
          where ? h('p', {class: 'where'}, t('submit.on', {nodes: where})) : null, preview.time_s ? h('p', {class: 'where'}, t('submit.may_run', {time: duration(preview.time_s)})) : null, preview.estimated_start && preview.pending ? h('p', {class: 'where'}, t('job.starts', {time: ago(preview.estimated_start)})) : null, preview.place ? h('p', {class: 'where'}, t('jobs.place', {n: preview.place})) : null)]
        : !preview.error && !general.length ? h('p', {class: 'sub'}, t('submit.fill')) : null,
      h('div', {class: 'segments views', role: 'radiogroup', 'aria-label': t('submit.as')}, ['yaml', 'command', 'curl', 'plan'].map(v => h('label', {}, h('input', {type: 'radio', name: 'view', value: v, checked: v === view, onchange: () => { view = v; drawText(); }}), h('span', {}, t(`submit.as.${v}`))))),
      shownText);
    drawText();
  }
  const shownText = h('div', {});
  function drawText() {
    const s = read();
    const texts = {yaml: () => (preview && preview.suite) || t('submit.fill'), command: () => asCommand(s), curl: () => asCurl(s, location.origin), plan: () => (preview && (typeof preview.plan === 'string' ? preview.plan : preview.plan && JSON.stringify(preview.plan, null, 2))) || t('submit.fill')};
    replace(shownText, copyable(texts[view]()));
  }

  const list = listOf(templates, 'templates');
  const chooser = h('select', {'aria-label': t('submit.template'), onchange: e => {
    const x = list[Number(e.target.value)];
    if (!x) return;
    render({main, session, life, place: {parameters: {}, from: x.content || {}}});
  }}, h('option', {value: ''}, t('submit.template')), list.map((x, i) => h('option', {value: i}, `${x.name} · ${x.scope || ''}`)));
  // The known templates by scope and name: one that somebody else has made or changed is not overwritten unseen.
  const etags = x => new Map(x.map(one => [`${one.scope}/${one.name}`, one.etag]));
  let seen = etags(list);
  const keep = deed(t('submit.keep'), async () => {
    const scopes = ['own', ...(session.teams || []).map(x => `team:${x}`), ...(session.role === 'admin' ? ['all'] : [])];
    const answer = await prompt(t('submit.keep'), [{name: 'name', label: t('admin.name'), required: true, value: read().name}, {name: 'scope', label: t('submit.scope'), choices: scopes, value: 'own'}]);
    if (!answer) return;
    const name = `${answer.scope}/${answer.name}`;
    try {
      const made = await put(`/templates/${part(answer.scope)}/${part(answer.name)}`, {...read(), code: undefined}, seen.get(name) ?? null);
      seen.set(name, made.etag);
    } catch (e) {
      if (e.status === 412) seen = etags(listOf(await get('/templates'), 'templates'));
      throw e;
    }
    toast(t('submit.kept', {name: answer.name}));
  }, 'second');

  const group = (name, ...children) => h('fieldset', {}, h('legend', {}, t(`group.${name}`)), h('div', {class: 'grid'}, children));
  const fold = (name, open, ...children) => h('details', {class: 'group', ...(open ? {open: true} : {})}, h('summary', {}, t(`group.${name}`)), h('div', {class: 'grid'}, children));
  const queueNames = listOf(queues, 'queues').map(q => q.name);
  if (!queueNames.includes('default')) queueNames.unshift('default');
  const form = h('form', {class: 'submit', onsubmit: e => e.preventDefault()},
    group('what', field('name', text('name', {maxlength: '100', required: true, placeholder: 'resnet20-lr-0.1'})), h('div', {class: 'field'}, h('span', {class: 'label'}, t('submit.kind')), kind), h('div', {class: 'wide'}, command, suite, folder && h('p', {class: 'sub', id: 'folder'}, folder)), launch, image),
    group('where', field('nodes', count('nodes', 1)), field('procs', count('procs', 1), t('hint.procs')), field('devices', count('devices'), t('hint.devices')), field('device_type', h('input', {type: 'text', list: 'types', value: submission.device_type ?? '', autocomplete: 'off', placeholder: t('any')})), h('datalist', {id: 'types'}, types.map(x => h('option', {value: x}))), field('whole_nodes', h('input', {type: 'checkbox', checked: submission.whole_nodes}))),
    group('when', field('queue', choice('queue', queueNames)), field('team', choice('team', ['', ...(session.teams || [])], ['–', ...(session.teams || [])])), field('time', text('time', {placeholder: '2h'}), t('hint.time')), field('keep', h('input', {type: 'text', value: (submission.env || {})[kKeep] ?? '', autocomplete: 'off', spellcheck: 'false', placeholder: '30m'}), t('hint.keep')), field('priority', h('input', {type: 'number', min: '0', max: '1000', value: submission.priority ?? '', placeholder: '100'})), field('preemptible', h('input', {type: 'checkbox', checked: submission.preemptible}))),
    fold('environment', Boolean(submission.env || submission.secrets || submission.mounts), env.element, secrets.element, mounts.element),
    fold('endpoints', Boolean(submission.endpoints && submission.endpoints.length), endpoints.element),
    fold('failure', Boolean(submission.retries && submission.retries.count), field('retries', h('input', {type: 'number', min: '0', max: '100', value: (submission.retries || {}).count ?? ''})), field('exit_codes', h('input', {type: 'text', value: ((submission.retries || {}).exit_codes || []).join(', '), placeholder: '1, 137'}), t('hint.exit_codes'))),
    fold('order', Boolean(submission.array || (submission.after || []).length), field('after', h('input', {type: 'text', value: (submission.after || []).join(', '), placeholder: '12, 15'}), t('hint.after')), field('array', text('array', {placeholder: '0-9%4'}), t('hint.array'))));
  drawKind();
  replace(main, h('div', {class: 'title'}, h('h1', {}, t('nav.submit')), h('div', {class: 'actions'}, draft ? button(t('submit.anew'), () => { dropDraft(); render({main, session, life, place: {parameters: {}}}); }, 'second') : null, list.length ? chooser : null, keep)),
    h('div', {class: 'submit-page'}, h('section', {}, form), h('section', {class: 'side'}, side, h('div', {class: 'actions'}, send))));
  preview = {problems: []};
  draw();
  ask();
}
