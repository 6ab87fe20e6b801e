import {get, post} from './api.js';
import {h, replace, words} from './dom.js';
import {t, term} from './i18n.js';
import {button, copyable, deed} from './parts.js';
import {terminalView} from './view_terminal.js';

// The entrances to a job: its services and ports as sites of their own, a terminal, ssh.
export function endpointsView(base, job, life, share) {
  const element = h('div', {class: 'endpoints'});
  draw().catch(e => replace(element, h('p', {class: 'empty'}, e.message)));
  return element;

  async function draw() {
    const found = await get(`${base}/endpoints`);
    if (life.over) return;
    if (!found.running) return replace(element, h('p', {class: 'empty'}, t('endpoint.off')));
    if (!found.may_enter) return replace(element, h('p', {class: 'empty'}, t('endpoint.not_yours')));
    const terminal = h('div', {});
    replace(element, h('h2', {}, t('job.endpoints')),
      found.sites ? h('div', {class: 'scroll'}, h('table', {class: 'list cards-on-phone'}, h('thead', {}, h('tr', {}, ['name', 'what', 'state', 'open'].map(x => h('th', {}, t(`endpoint.${x}`))))),
        h('tbody', {}, found.endpoints.map(row)))) : h('p', {class: 'finding note'}, t('endpoint.no_sites')),
      h('h2', {}, t('endpoint.shell')),
      h('p', {class: 'actions'}, button(t('endpoint.terminal'), () => replace(terminal, terminalView(base, life)), 'second')), terminal,
      h('p', {class: 'sub'}, t('endpoint.ssh.how')), copyable(`assay ssh ${job.id}`), copyable(`assay ssh --print-config ${job.id} >> ~/.ssh/config\nssh job-${job.id}`),
      share && h('p', {}, t('endpoint.shared', {who: (job.shared_with || []).join(', ') || '–'}), ' ', button(t('brief.share'), share, 'second small')));
  }

  function row(endpoint) {
    const state = h('td', {'data-label': t('endpoint.state')});
    const look = async () => {
      const now = await get(`${base}/endpoints/${encodeURIComponent(endpoint.name)}`);
      if (!life.over) say(now.state, now.words, now.detail);
    };
    const say = (code, text, detail) => replace(state, h('span', {class: `chip ${code === 'open' ? 'valid' : ''}`}, t(`endpoint.state.${code}`)), text && code !== 'open' && h('p', {class: 'sub'}, words(text, 300)), detail && h('pre', {}, detail));
    const open = deed(t('endpoint.open'), async () => {
      // Opened before any wait, or the browser does not allow it; and without a reference to this page.
      const site = window.open('', '_blank');
      if (site) site.opener = null;
      replace(state, h('span', {class: 'chip'}, t('endpoint.state.starting')));
      try {
        const opened = await post(`${base}/endpoints/${encodeURIComponent(endpoint.name)}/open`);
        say('open');
        if (site) site.location = opened.url;
        else replace(state, h('a', {href: opened.url, target: '_blank', rel: 'noopener'}, t('endpoint.open')));
      } catch (e) {
        if (site) site.close();
        say(e.code && t(`endpoint.state.${e.code}`) !== `endpoint.state.${e.code}` ? e.code : 'failed', e.message);
      }
    });
    look().catch(e => say('failed', e.message));
    life.every(15000, () => look().catch(() => {}));
    return h('tr', {}, h('td', {'data-label': t('endpoint.name')}, words(endpoint.title || endpoint.name, 60)),
      h('td', {'data-label': t('endpoint.what')}, endpoint.kind === 'port' ? t('endpoint.at_port', {port: endpoint.port}) : term('endpoint', endpoint.kind)), state, h('td', {}, open));
  }
}
