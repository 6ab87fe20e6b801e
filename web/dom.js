// Elements. Text only ever becomes text nodes: nothing here parses markup.

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  fill(element, attributes, children);
  return element;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else if (name === 'checked' || name === 'disabled' || name === 'hidden' || name === 'selected')
      element[name] = Boolean(value);
    else if (name === 'vars') for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
}

export function append(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// Who has come to something in there with the keyboard is at the same thing afterwards.
export function replace(element, ...children) {
  const held = holdFocus(element);
  element.replaceChildren();
  append(element, children);
  if (held) held();
  return element;
}

const kFocusable = 'a[href],button,input,select,textarea,summary,[tabindex]';
const focusables = root => [...root.querySelectorAll(kFocusable)].filter(e => !e.disabled && e.tabIndex >= 0 && !e.closest('[hidden]'));
// What a control is to somebody who uses it: its kind, its name, and the job in whose row it is.
function likeness(element) {
  const row = element.closest('[data-job]');
  return [element.localName, element.name || '', element.type === 'radio' ? element.value : '', row ? row.dataset.job : '',
    element.getAttribute('aria-label') || (element.localName === 'input' ? '' : element.textContent)].join('\n');
}

// Gives a function that sets the focus in the root to the control that it was on: the same, or the like of it, or, where there is none, what is in
// its place. Nothing: it was not in there.
export function holdFocus(root) {
  const active = document.activeElement;
  if (!active || active === root || !root.contains(active)) return null;
  const all = focusables(root);
  const at = all.indexOf(active);
  const like = likeness(active);
  const turn = all.slice(0, Math.max(at, 0)).filter(e => likeness(e) === like).length;
  return () => {
    const taken = document.activeElement;
    if (taken && taken !== document.body) return;
    if (active.isConnected) { active.focus({preventScroll: true}); return; }
    const now = focusables(root);
    const alike = now.filter(e => likeness(e) === like);
    const next = alike[Math.min(turn, alike.length - 1)] || now[Math.min(Math.max(at, 0), now.length - 1)];
    if (next) next.focus({preventScroll: true});
  };
}

// Text of other people: long text is cut, with the whole as the title; marks that would change
// the direction of the text around it, or that cannot be seen, are made visible.
export function words(text, most = 200) {
  const clean = visible(text);
  const points = Array.from(clean);
  if (points.length <= most) return h('bdi', {}, clean);
  return h('bdi', {title: points.slice(0, 2000).join('')}, points.slice(0, most).join('') + '…');
}

export function visible(text) {
  return String(text ?? '').replace(
      /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\ufffd');
}

// Everything that a page started and that has to end with it.
export class Life {
  #ends = [];
  over = false;
  add(end) {
    if (this.over) end();
    else this.#ends.push(end);
  }
  every(ms, what) {
    const timer = setInterval(() => { if (!document.hidden) what(); }, ms);
    this.add(() => clearInterval(timer));
  }
  listen(target, event, handler, options) {
    target.addEventListener(event, handler, options);
    this.add(() => target.removeEventListener(event, handler, options));
  }
  end() {
    this.over = true;
    for (const end of this.#ends.splice(0)) end();
  }
}

export function icon(path) {
  return svg('svg', {viewBox: '0 0 20 20', class: 'icon', 'aria-hidden': 'true'}, svg('path', {d: path}));
}
