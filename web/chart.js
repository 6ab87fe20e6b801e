// Line charts on a canvas: zoom by dragging, crosshair by pointer and keys, spans and marks behind.
import {h, visible} from './dom.js';
import {clock, number, quantity} from './format.js';
import {t} from './i18n.js';

const kLeft = 56, kBottom = 22, kTop = 8, kRight = 6, kHeight = 190, kNamed = 8;

export class Chart {
  // `zoom`: shared by charts of one page: {from, to, changed()}, both null: everything.
  constructor(title, unit, zoom) {
    this.unit = unit;
    this.zoom = zoom;
    this.series = [];
    this.marks = [];
    this.hidden = new Set();
    this.cursor = null;
    this.canvas = h('canvas', {tabindex: '0', role: 'img', 'aria-label': title});
    this.tip = h('div', {class: 'tip', hidden: true});
    this.legend = h('div', {class: 'legend'});
    this.stat = h('span', {class: 'stat'});
    this.element = h('figure', {class: 'chart'},
        h('figcaption', {}, h('b', {}, title), unit && h('span', {class: 'unit'}, unit === 'B' ? '' : unit), this.stat),
        h('div', {class: 'canvas'}, this.canvas, this.tip), this.legend);
    this.canvas.addEventListener('pointermove', e => this.#move(e));
    this.canvas.addEventListener('pointerleave', () => { if (!this.drag) this.#point(null); });
    this.canvas.addEventListener('pointerdown', e => {
      if (e.button) return;
      this.drag = {from: this.#time(e), at: e.offsetX};
      this.canvas.setPointerCapture(e.pointerId);
    });
    this.canvas.addEventListener('pointerup', e => this.#release(e));
    this.canvas.addEventListener('pointercancel', () => { this.drag = null; this.draw(); });
    this.canvas.addEventListener('dblclick', () => this.#to(null, null));
    this.canvas.addEventListener('keydown', e => this.#key(e));
    this.canvas.addEventListener('blur', () => this.#point(null));
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentNode);
  }

  // [{key, label, points: [[t, v]…]}]
  show(series, marks) {
    const named = this.series.map(s => s.label).join('\n') === series.map(s => s.label).join('\n');
    this.series = series;
    this.marks = marks;
    if (!named) this.#name();
    this.draw();
  }

  #name() {
    this.legend.replaceChildren();
    if (this.series.length < 2) return;
    this.series.slice(0, kNamed).forEach((s, i) => this.legend.append(h('button', {
      type: 'button', class: 'key', 'aria-pressed': String(!this.hidden.has(s.key)),
      onclick: e => {
        if (this.hidden.has(s.key)) this.hidden.delete(s.key); else this.hidden.add(s.key);
        e.currentTarget.setAttribute('aria-pressed', String(!this.hidden.has(s.key)));
        this.draw();
      }}, h('i', {class: `s${i % 8}`}), visible(s.label))));
    if (this.series.length > kNamed)
      this.legend.append(h('span', {}, t('chart.more', {n: this.series.length - kNamed})));
  }

  #extent() {
    let from = Infinity, to = -Infinity;
    for (const s of this.series) {
      if (!s.points.length) continue;
      from = Math.min(from, s.points[0][0]);
      to = Math.max(to, s.points[s.points.length - 1][0]);
    }
    from = this.zoom.from ?? this.zoom.least ?? from;
    to = this.zoom.to ?? this.zoom.greatest ?? to;
    return to > from ? [from, to] : [from - 1, from + 1];
  }

  #time(e) {
    const [from, to] = this.#extent();
    const width = this.canvas.clientWidth - kLeft - kRight;
    return from + Math.min(Math.max((e.offsetX - kLeft) / width, 0), 1) * (to - from);
  }

  #move(e) {
    this.#point(this.#time(e));
  }

  #point(time) {
    this.cursor = time;
    this.draw();
  }

  #release(e) {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    const to = this.#time(e);
    if (Math.abs(e.offsetX - drag.at) > 8) this.#to(Math.min(drag.from, to), Math.max(drag.from, to));
    else this.draw();
  }

  #to(from, to) {
    this.zoom.from = from;
    this.zoom.to = to;
    this.zoom.changed();
  }

  #key(e) {
    const [from, to] = this.#extent();
    const middle = this.cursor ?? (from + to) / 2;
    const step = (to - from) / 50;
    if (e.key === 'ArrowLeft') this.#point(Math.max(from, middle - step));
    else if (e.key === 'ArrowRight') this.#point(Math.min(to, middle + step));
    else if (e.key === '+' || e.key === '=') this.#to(middle - (to - from) / 4, middle + (to - from) / 4);
    else if (e.key === '-' || e.key === 'Escape' || e.key === '0') this.#to(null, null);
    else return;
    e.preventDefault();
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (!width || !this.canvas.isConnected) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(kHeight * ratio);
    const context = this.canvas.getContext('2d');
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, kHeight);
    const style = getComputedStyle(this.canvas);
    const color = name => style.getPropertyValue('--' + name).trim();
    const [from, to] = this.#extent();
    const shown = this.series.filter(s => !this.hidden.has(s.key));
    let least = Infinity, greatest = -Infinity, last = null;
    for (const s of shown)
      for (const [time, value] of s.points) {
        if (value === null || time < from || time > to) continue;
        least = Math.min(least, value);
        greatest = Math.max(greatest, value);
      }
    if (!(greatest >= least)) { least = 0; greatest = 1; }
    const ticks = scale(this.unit === '%' ? 0 : least, this.unit === '%' ? Math.max(greatest, 100) : greatest, 4);
    const bottom = ticks[0], top = ticks[ticks.length - 1];
    const x = time => kLeft + (time - from) / (to - from) * (width - kLeft - kRight);
    const y = value => kTop + (top - value) / (top - bottom || 1) * (kHeight - kTop - kBottom);
    context.font = '11px ' + style.fontFamily;
    this.#spans(context, color, x, from, to, width);
    context.lineWidth = 1;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    for (const tick of ticks) {
      context.strokeStyle = color('line');
      context.beginPath();
      context.moveTo(kLeft, Math.round(y(tick)) + 0.5);
      context.lineTo(width - kRight, Math.round(y(tick)) + 0.5);
      context.stroke();
      context.fillStyle = color('muted');
      context.fillText(this.unit === 'B' ? quantity(tick, 'B') : number(tick, 3), kLeft - 7, y(tick));
    }
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const count = Math.max(2, Math.floor(width / 130));
    for (let i = 0; i <= count; ++i) {
      const time = from + (to - from) * i / count;
      context.textAlign = i === 0 ? 'left' : i === count ? 'right' : 'center';
      context.fillText(clock(time, to - from > 86400), x(time), kHeight - kBottom + 7);
    }
    context.save();
    context.beginPath();
    context.rect(kLeft, 0, width - kLeft - kRight, kHeight - kBottom + 1);
    context.clip();
    context.lineJoin = 'round';
    this.series.forEach((s, i) => {
      if (this.hidden.has(s.key)) return;
      context.strokeStyle = color(`s${i % 8}`);
      context.globalAlpha = i < kNamed ? 1 : 0.35;
      context.lineWidth = i < kNamed ? 1.6 : 1;
      context.setLineDash(i % 8 > 5 ? [2, 3] : i % 8 > 3 ? [6, 3] : []);
      context.beginPath();
      let open = false, before = null;
      for (const [time, value] of s.points) {
        if (value === null) { open = false; continue; }
        if (time < from) { before = [time, value]; continue; }
        if (before) { context.moveTo(x(before[0]), y(before[1])); open = true; before = null; }
        if (open) context.lineTo(x(time), y(value)); else context.moveTo(x(time), y(value));
        open = true;
        if (time > to) break;
      }
      context.stroke();
      if (s.points.length === 1) { context.beginPath(); context.arc(x(s.points[0][0]), y(s.points[0][1]), 2.5, 0, 7); context.fillStyle = color(`s${i % 8}`); context.fill(); }
    });
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.restore();
    if (shown.length === 1) {
      const points = shown[0].points.filter(p => p[1] !== null);
      last = points.length ? points[points.length - 1][1] : null;
    }
    this.stat.textContent = last === null ? '' : quantity(last, this.unit);
    this.#cross(context, color, x, from, to, width);
  }

  #spans(context, color, x, from, to, width) {
    for (const mark of this.marks) {
      const end = mark.to ?? mark.t;
      if (end < from || mark.t > to) continue;
      const left = Math.max(x(mark.t), kLeft), right = Math.min(x(end), width - kRight);
      if (mark.to) {
        context.fillStyle = color(mark.kind === 'evaluate' ? 'ph-evaluate' : mark.text === 'init' ? 'ph-init' : mark.text === 'train' ? 'ph-train' : 'ph-other');
        context.globalAlpha = mark.text === 'train' ? 0.04 : 0.12;
        context.fillRect(left, kTop, Math.max(right - left, 1), kHeight - kTop - kBottom);
        context.globalAlpha = 1;
      } else if (mark.t >= from) {
        context.strokeStyle = color(mark.kind === 'rank' ? 'invalid' : mark.kind === 'gap' ? 'incomplete' : 'line-strong');
        context.setLineDash(mark.kind === 'round' || mark.kind === 'run' ? [] : [3, 3]);
        context.beginPath();
        context.moveTo(Math.round(left) + 0.5, kTop);
        context.lineTo(Math.round(left) + 0.5, kHeight - kBottom);
        context.stroke();
        context.setLineDash([]);
      }
    }
  }

  #cross(context, color, x, from, to, width) {
    if (this.drag && this.cursor !== null) {
      context.fillStyle = color('accent');
      context.globalAlpha = 0.14;
      context.fillRect(Math.min(x(this.drag.from), x(this.cursor)), kTop, Math.abs(x(this.cursor) - x(this.drag.from)), kHeight - kTop - kBottom);
      context.globalAlpha = 1;
    }
    this.tip.hidden = this.cursor === null || !this.series.length;
    if (this.tip.hidden) return;
    context.strokeStyle = color('muted');
    context.beginPath();
    context.moveTo(Math.round(x(this.cursor)) + 0.5, kTop);
    context.lineTo(Math.round(x(this.cursor)) + 0.5, kHeight - kBottom);
    context.stroke();
    const near = (to - from) / 60;
    const rows = [];
    this.series.forEach((s, i) => {
      if (this.hidden.has(s.key)) return;
      const point = nearest(s.points, this.cursor);
      if (point && point[1] !== null && Math.abs(point[0] - this.cursor) < Math.max(near, 2)) rows.push({i, s, value: point[1]});
    });
    const marks = this.marks.filter(m => m.to ? m.t <= this.cursor && this.cursor <= m.to : Math.abs(m.t - this.cursor) < near).slice(0, 3);
    this.tip.replaceChildren(h('b', {}, clock(this.cursor, to - from > 86400)),
        ...rows.slice(0, 10).map(row => h('span', {}, h('span', {}, h('i', {class: `s${row.i % 8}`}), visible(row.s.label)), h('span', {}, quantity(row.value, this.unit)))),
        ...marks.map(m => h('span', {class: 'sub'}, visible(m.text).slice(0, 60))));
    const left = x(this.cursor) + 14;
    this.tip.style.left = left + this.tip.offsetWidth > width ? `${Math.max(x(this.cursor) - this.tip.offsetWidth - 14, 0)}px` : `${left}px`;
  }
}

function nearest(points, time) {
  let low = 0, high = points.length - 1;
  if (high < 0) return null;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < time) low = middle + 1; else high = middle;
  }
  return low > 0 && time - points[low - 1][0] < points[low][0] - time ? points[low - 1] : points[low];
}

// Round numbers around the smallest and the largest value.
export function scale(least, greatest, count) {
  if (greatest - least < Math.abs(greatest) * 1e-9 || greatest === least) { greatest += Math.abs(greatest) * 0.05 || 1; least -= Math.abs(least) * 0.05 || 0; }
  const rough = (greatest - least) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(f => f * power).find(s => s >= rough * 0.999);
  const out = [];
  for (let v = Math.floor(least / step) * step; ; v += step) {
    out.push(Math.abs(v) < step / 1e6 ? 0 : v);
    if (v >= greatest - step * 1e-6 || out.length > 20) break;
  }
  return out;
}
