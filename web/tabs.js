import {h} from './dom.js';
import {t} from './i18n.js';

export function tabs(names, current, address) {
  const list = h('div', {class: 'tabs', role: 'tablist', onkeydown: e => {
    const links = [...list.children];
    const at = links.indexOf(document.activeElement);
    if (at < 0 || (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight')) return;
    const next = links[(at + (e.key === 'ArrowRight' ? 1 : links.length - 1)) % links.length];
    next.focus();
    e.preventDefault();
  }}, names.map(name => h('a', {role: 'tab', href: address(name), 'aria-selected': String(name === current)}, t(`job.${name}`))));
  return list;
}
