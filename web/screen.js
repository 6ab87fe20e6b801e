// A terminal's screen: the part of an xterm that shells, editors, pagers, top and
// tmux need. No mouse, no pictures, no sounds.
import {h, replace} from './dom.js';

const kHistory = 2000;
const kBlank = {text: ' ', style: ''};
const kSpecial = '`afgijklmnopqrstuvwxyz{|}~';
const kDrawn = '◆▒°±␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·';

const isWide = c => c >= 0x1100 && (c <= 0x115f || (c >= 0x2e80 && c <= 0x303e) || (c >= 0x3041 && c <= 0x33ff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) || (c >= 0xa000 && c <= 0xa4cf) ||
  (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) || (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd));
const isMark = c => (c >= 0x300 && c <= 0x36f) || c === 0x200d || (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0x200b && c <= 0x200f);

export class Screen {
  constructor(columns, rows, answer) {
    this.columns = columns;
    this.rows = rows;
    this.answer = answer;
    this.decoder = new TextDecoder();
    this.history = [];
    this.reset();
  }
  reset() {
    this.pen = {};
    this.style = '';
    this.lines = Array.from({length: this.rows}, () => this.blank());
    this.x = this.y = 0;
    this.top = 0;
    this.bottom = this.rows - 1;
    this.saved = null;
    this.other = null;      // the screen that is hidden while a program has the other one
    this.wrap = true;
    this.shown = true;
    this.application = false;
    this.bracketed = false;
    this.drawn = false;     // lines and corners instead of letters
    this.pending = '';
    this.last = ' ';
  }
  blank() { return Array.from({length: this.columns}, () => kBlank); }
  resize(columns, rows) {
    const cut = lines => {
      while (lines.length > rows) { const gone = lines.shift(); if (!this.other) this.history.push(gone); this.y = Math.max(0, this.y - 1); }
      while (lines.length < rows) lines.push([]);
      return lines.map(line => { const out = line.slice(0, columns); while (out.length < columns) out.push(kBlank); return out; });
    };
    this.lines = cut(this.lines);
    if (this.other) this.other.lines = cut(this.other.lines);
    this.columns = columns;
    this.rows = rows;
    this.top = 0;
    this.bottom = rows - 1;
    this.x = Math.min(this.x, columns - 1);
    this.y = Math.min(this.y, rows - 1);
  }

  write(bytes) {
    let text = this.pending + this.decoder.decode(bytes, {stream: true});
    this.pending = '';
    while (text) {
      if (text[0] === '\x1b') {
        const used = this.escape(text);
        if (used === 0) { this.pending = text.length > 4096 ? '' : text; return; }
        text = text.slice(used);
        continue;
      }
      const code = text.codePointAt(0);
      const length = code > 0xffff ? 2 : 1;
      if (code < 0x20 || code === 0x7f) this.control(code);
      else this.put(text.slice(0, length), code);
      text = text.slice(length);
    }
  }
  control(code) {
    if (code === 8) this.x = Math.max(0, Math.min(this.x, this.columns - 1) - 1);
    else if (code === 9) this.x = Math.min(this.columns - 1, (Math.floor(this.x / 8) + 1) * 8);
    else if (code >= 10 && code <= 12) this.down();
    else if (code === 13) this.x = 0;
    else if (code === 14) this.drawn = true;
    else if (code === 15) this.drawn = false;
  }
  put(character, code) {
    if (isMark(code)) {
      const at = Math.max(0, Math.min(this.x, this.columns) - 1);
      const cell = this.lines[this.y][at];
      if (cell.text.length < 8) this.lines[this.y][at] = {...cell, text: cell.text + character};
      return;
    }
    if (this.drawn && kSpecial.includes(character)) character = kDrawn[kSpecial.indexOf(character)];
    const width = isWide(code) ? 2 : 1;
    if (this.x + width > this.columns) {
      if (this.wrap) { this.x = 0; this.down(); } else this.x = this.columns - width;
    }
    this.last = character;
    this.lines[this.y][this.x] = {text: character, style: this.style};
    if (width === 2 && this.x + 1 < this.columns) this.lines[this.y][this.x + 1] = {text: '', style: this.style};
    this.x += width;
  }
  down() {
    if (this.y === this.bottom) this.scroll(1);
    else if (this.y < this.rows - 1) ++this.y;
  }
  up() {
    if (this.y === this.top) this.scroll(-1);
    else if (this.y > 0) --this.y;
  }
  scroll(n) {
    for (; n > 0; --n) {
      const [gone] = this.lines.splice(this.top, 1);
      if (this.top === 0 && !this.other) { this.history.push(gone); if (this.history.length > kHistory) this.history.shift(); }
      this.lines.splice(this.bottom, 0, this.blank());
    }
    for (; n < 0; ++n) {
      this.lines.splice(this.bottom, 1);
      this.lines.splice(this.top, 0, this.blank());
    }
  }
  erase(y, from, to) { for (let x = from; x < to; ++x) this.lines[y][x] = this.style ? {text: ' ', style: this.style} : kBlank; }

  // The number of characters that an escape sequence used; 0: it is not complete yet.
  escape(text) {
    const second = text[1];
    if (second === undefined) return 0;
    if (second === '[') {
      const found = /^\x1b\[([<-?]?)([\d;:]*)([ -/]*)([@-~])/.exec(text);
      if (found) { this.sequence(found[1], found[2].split(/[;:]/).map(n => n === '' ? undefined : Math.min(Number(n), 9999)), found[3], found[4]); return found[0].length; }
      return /^\x1b\[[<-?]?[\d;:]*[ -/]*$/.test(text) ? 0 : 2;
    }
    if (second === ']' || second === 'P' || second === '_' || second === '^') {  // titles and the like
      const end = /\x07|\x1b\\/.exec(text);
      return end ? end.index + end[0].length : text.length > 4096 ? 2 : 0;
    }
    if ('()*+'.includes(second)) {
      if (text[2] === undefined) return 0;
      if (second === '(') this.drawn = text[2] === '0';
      return 3;
    }
    if (second === '7') this.saved = {x: this.x, y: this.y, pen: {...this.pen}, style: this.style};
    else if (second === '8') this.restore();
    else if (second === 'D') this.down();
    else if (second === 'M') this.up();
    else if (second === 'E') { this.x = 0; this.down(); }
    else if (second === 'c') this.reset();
    else if (second === '#') return text[2] === undefined ? 0 : 3;
    return 2;
  }
  restore() {
    const s = this.saved || {x: 0, y: 0, pen: {}, style: ''};
    this.x = Math.min(s.x, this.columns - 1);
    this.y = Math.min(s.y, this.rows - 1);
    this.pen = {...s.pen};
    this.style = s.style;
  }
  sequence(mark, numbers, between, letter) {
    const n = Math.max(1, numbers[0] || 1);
    const line = this.lines[this.y];
    const x = Math.min(this.x, this.columns - 1);
    if (mark === '?') return this.mode(numbers, letter);
    if (mark || between) return;
    if (letter === 'A') this.y = Math.max(this.y >= this.top ? this.top : 0, this.y - n);
    else if (letter === 'B' || letter === 'e') this.y = Math.min(this.y <= this.bottom ? this.bottom : this.rows - 1, this.y + n);
    else if (letter === 'C' || letter === 'a') this.x = Math.min(this.columns - 1, this.x + n);
    else if (letter === 'D') this.x = Math.max(0, x - n);
    else if (letter === 'E') { this.x = 0; this.y = Math.min(this.bottom, this.y + n); }
    else if (letter === 'F') { this.x = 0; this.y = Math.max(this.top, this.y - n); }
    else if (letter === 'G' || letter === '`') this.x = Math.min(this.columns, n) - 1;
    else if (letter === 'd') this.y = Math.min(this.rows, n) - 1;
    else if (letter === 'H' || letter === 'f') { this.y = Math.min(this.rows, n) - 1; this.x = Math.min(this.columns, Math.max(1, numbers[1] || 1)) - 1; }
    else if (letter === 'J') this.eraseScreen(numbers[0] || 0);
    else if (letter === 'K') this.erase(this.y, numbers[0] ? 0 : x, numbers[0] === 1 ? x + 1 : this.columns);
    else if (letter === 'X') this.erase(this.y, x, Math.min(this.columns, x + n));
    else if (letter === 'P') { line.splice(x, n); while (line.length < this.columns) line.push(kBlank); }
    else if (letter === '@') { line.splice(x, 0, ...Array.from({length: Math.min(n, this.columns)}, () => kBlank)); line.length = this.columns; }
    else if (letter === 'L' || letter === 'M') this.shift(letter === 'L' ? -n : n);
    else if (letter === 'S') this.scroll(Math.min(n, this.rows));
    else if (letter === 'T') this.scroll(-Math.min(n, this.rows));
    else if (letter === 'b') for (let i = Math.min(n, this.columns); i > 0; --i) this.put(this.last, this.last.codePointAt(0));
    else if (letter === 'm') this.paint(numbers);
    else if (letter === 'r') { this.top = Math.min(n, this.rows) - 1; this.bottom = Math.max(this.top, Math.min(numbers[1] || this.rows, this.rows) - 1); this.x = this.y = 0; }
    else if (letter === 's') this.saved = {x: this.x, y: this.y, pen: {...this.pen}, style: this.style};
    else if (letter === 'u') this.restore();
    else if (letter === 'n' && numbers[0] === 6) this.answer(`\x1b[${this.y + 1};${x + 1}R`);
    else if (letter === 'n' && numbers[0] === 5) this.answer('\x1b[0n');
    else if (letter === 'c') this.answer('\x1b[?6c');
  }
  shift(n) {  // lines from the cursor on
    if (this.y < this.top || this.y > this.bottom) return;
    const top = this.top;
    this.top = this.y;
    const keep = this.other;
    this.other ||= {};  // nothing of it is history
    this.scroll(Math.max(-this.rows, Math.min(n, this.rows)));
    this.other = keep;
    this.top = top;
  }
  eraseScreen(what) {
    const x = Math.min(this.x, this.columns - 1);
    if (what === 3) { this.history = []; return; }
    for (let y = 0; y < this.rows; ++y)
      if (what === 2 || (what === 0 ? y > this.y : y < this.y)) this.erase(y, 0, this.columns);
    if (what === 0) this.erase(this.y, x, this.columns);
    else if (what === 1) this.erase(this.y, 0, x + 1);
  }
  mode(numbers, letter) {
    if (letter !== 'h' && letter !== 'l') return;
    const on = letter === 'h';
    for (const n of numbers) {
      if (n === 1) this.application = on;
      else if (n === 7) this.wrap = on;
      else if (n === 25) this.shown = on;
      else if (n === 2004) this.bracketed = on;
      else if (n === 1049 || n === 1047 || n === 47) this.alternate(on);
    }
  }
  alternate(on) {
    if (on && !this.other) {
      this.other = {lines: this.lines, x: this.x, y: this.y};
      this.lines = Array.from({length: this.rows}, () => this.blank());
    } else if (!on && this.other) {
      ({lines: this.lines, x: this.x, y: this.y} = this.other);
      this.other = null;
      this.y = Math.min(this.y, this.rows - 1);
    }
    this.top = 0;
    this.bottom = this.rows - 1;
  }
  paint(numbers) {
    const pen = this.pen;
    for (let i = 0; i < numbers.length; ++i) {
      const n = numbers[i] || 0;
      if (n === 0) for (const key of Object.keys(pen)) delete pen[key];
      else if (n === 1) pen.bold = true;
      else if (n === 2) pen.faint = true;
      else if (n === 3) pen.italic = true;
      else if (n === 4) pen.underline = true;
      else if (n === 7) pen.reverse = true;
      else if (n === 22) pen.bold = pen.faint = false;
      else if (n === 23) pen.italic = false;
      else if (n === 24) pen.underline = false;
      else if (n === 27) pen.reverse = false;
      else if (n >= 30 && n <= 37) pen.front = n - 30;
      else if (n >= 90 && n <= 97) pen.front = n - 82;
      else if (n === 39) delete pen.front;
      else if (n >= 40 && n <= 47) pen.back = n - 40;
      else if (n >= 100 && n <= 107) pen.back = n - 92;
      else if (n === 49) delete pen.back;
      else if (n === 38 || n === 48) {
        const key = n === 38 ? 'front' : 'back';
        if (numbers[i + 1] === 5) { pen[key] = (numbers[i + 2] || 0) & 255; i += 2; }
        else if (numbers[i + 1] === 2) { pen[key] = [2, 3, 4].map(k => (numbers[i + k] || 0) & 255); i += 4; }
      }
    }
    this.style = Object.values(pen).some(v => v !== false && v !== undefined) ? JSON.stringify(pen) : '';
  }

  draw(element) {
    const rows = this.other ? this.lines : [...this.history, ...this.lines];
    const cursor = rows.length - this.rows + this.y;
    const kept = element.children;
    while (kept.length > rows.length) element.lastChild.remove();
    rows.forEach((row, i) => {
      const at = i === cursor && this.shown ? Math.min(this.x, this.columns - 1) : -1;
      const key = (at >= 0 ? `${at}|` : '') + row.map(c => c.text + (c.style && `\x00${c.style}\x00`)).join('');
      const line = kept[i] || element.appendChild(h('div', {}));
      if (line.key === key) return;
      line.key = key;
      replace(line, runs(row, at));
    });
  }

  // The bytes of a key; null: the browser handles it, or it is a letter that comes as text.
  key(e) {
    if (e.metaKey || (e.ctrlKey && e.shiftKey)) return null;  // copy and paste
    const arrows = {ArrowUp: 'A', ArrowDown: 'B', ArrowRight: 'C', ArrowLeft: 'D', Home: 'H', End: 'F'};
    if (arrows[e.key]) {
      const held = 1 + (e.shiftKey ? 1 : 0) + (e.altKey ? 2 : 0) + (e.ctrlKey ? 4 : 0);
      return held > 1 ? `\x1b[1;${held}${arrows[e.key]}` : `\x1b${this.application ? 'O' : '['}${arrows[e.key]}`;
    }
    const named = {Enter: '\r', Backspace: '\x7f', Tab: e.shiftKey ? '\x1b[Z' : '\t', Escape: '\x1b', Delete: '\x1b[3~', Insert: '\x1b[2~', PageUp: '\x1b[5~', PageDown: '\x1b[6~',
                   F1: '\x1bOP', F2: '\x1bOQ', F3: '\x1bOR', F4: '\x1bOS', F5: '\x1b[15~', F6: '\x1b[17~', F7: '\x1b[18~', F8: '\x1b[19~', F9: '\x1b[20~', F10: '\x1b[21~', F12: '\x1b[24~'};
    if (named[e.key]) return (e.altKey ? '\x1b' : '') + named[e.key];
    if (e.key.length !== 1) return null;
    if (e.ctrlKey && !e.altKey) {
      const code = e.key.toUpperCase().charCodeAt(0);
      if (e.key === ' ') return '\x00';
      return code >= 64 && code < 96 ? String.fromCharCode(code - 64) : null;
    }
    return e.altKey && !e.ctrlKey ? '\x1b' + e.key : null;
  }
}

const kColors = ['#3b4252', '#c4443e', '#3f8f4f', '#a77b1b', '#3a72c4', '#9a4fae', '#2b8f9c', '#c8ccd4', '#6b7280', '#ef6b64', '#6cc07c', '#d9ae4b', '#6fa0ea', '#c583d6', '#5cc3d0', '#ffffff'];
function color(value) {
  if (Array.isArray(value)) return `rgb(${value.join(',')})`;
  if (value < 16) return kColors[value];
  if (value >= 232) return `rgb(${Array(3).fill(8 + (value - 232) * 10).join(',')})`;
  const level = n => n === 0 ? 0 : 55 + n * 40;
  const n = value - 16;
  return `rgb(${level(Math.floor(n / 36))},${level(Math.floor(n / 6) % 6)},${level(n % 6)})`;
}

function runs(row, cursor) {
  const out = [];
  let text = '', style = null;
  const flush = () => { if (text) out.push(span(text, style)); text = ''; };
  row.forEach((cell, x) => {
    if (x === cursor) { flush(); out.push(h('span', {class: 'terminal-cursor'}, cell.text || ' ')); style = null; return; }
    if (cell.style !== style) { flush(); style = cell.style; }
    text += cell.text;
  });
  flush();
  return out;
}

function span(text, style) {
  if (!style) return text;
  const pen = JSON.parse(style);
  let front = pen.front === undefined ? null : color(pen.front), back = pen.back === undefined ? null : color(pen.back);
  if (pen.reverse) [front, back] = [back || 'var(--terminal-back)', front || 'var(--terminal-front)'];
  const element = h('span', {class: [pen.bold && 'tb', pen.faint && 'tf', pen.italic && 'ti', pen.underline && 'tu'].filter(Boolean).join(' ')}, text);
  if (front) element.style.color = front;
  if (back) element.style.background = back;
  return element;
}
