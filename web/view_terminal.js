import {address} from './api.js';
import {h, replace} from './dom.js';
import {t} from './i18n.js';
import {Screen} from './screen.js';

// A shell beside a job's first rank. Frames are those of docs/dev/door.md.
export function terminalView(base, life) {
  const lines = h('div', {class: 'terminal-lines'});
  const typed = h('textarea', {class: 'terminal-input', 'aria-label': t('endpoint.terminal'), autocapitalize: 'off', autocomplete: 'off', spellcheck: 'false', rows: '1'});
  const element = h('div', {class: 'terminal', tabindex: '-1', onclick: () => { if (!String(getSelection())) typed.focus(); }}, lines, typed);
  const screen = new Screen(80, 24, bytes => send('i', bytes));
  const socket = new WebSocket(address(`${base}/terminal`).replace(/^/, location.origin.replace(/^http/, 'ws')));
  socket.binaryType = 'arraybuffer';
  const encoder = new TextEncoder();
  let received = new Uint8Array(0), drawing = false, over = false;

  function send(kind, content) {
    if (socket.readyState !== WebSocket.OPEN || over) return;
    const body = typeof content === 'string' ? encoder.encode(content) : content;
    for (let at = 0; at === 0 || at < body.length; at += 60000) {
      const piece = body.subarray(at, at + 60000);
      const frame = new Uint8Array(5 + piece.length);
      frame[0] = kind.charCodeAt(0);
      new DataView(frame.buffer).setUint32(1, piece.length);
      frame.set(piece, 5);
      socket.send(frame);
    }
  }
  function take(bytes) {
    const all = new Uint8Array(received.length + bytes.length);
    all.set(received);
    all.set(bytes, received.length);
    let at = 0;
    while (all.length - at >= 5) {
      const size = new DataView(all.buffer, at + 1, 4).getUint32(0);
      if (all.length - at < 5 + size) break;
      const content = all.subarray(at + 5, at + 5 + size);
      const kind = String.fromCharCode(all[at]);
      if (kind === 'o' || kind === 'e') screen.write(content);
      else if (kind === 'x') end(t('terminal.ended'));
      else if (kind === 'f') end(new TextDecoder().decode(content));
      at += 5 + size;
    }
    received = all.slice(at);
    draw();
  }
  function end(words) {
    if (over) return;
    over = true;
    screen.write(encoder.encode(`\r\n\x1b[0m[${words}]\r\n`));
    draw();
    socket.close();
  }
  function draw() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      const low = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
      screen.draw(lines);
      if (low) element.scrollTop = element.scrollHeight;
    });
  }
  function fit() {
    const probe = h('span', {class: 'terminal-probe'}, '0'.repeat(10));
    element.append(probe);
    const box = probe.getBoundingClientRect();
    probe.remove();
    const columns = Math.max(20, Math.min(300, Math.floor((element.clientWidth - 16) / (box.width / 10))));
    const rows = Math.max(5, Math.min(100, Math.floor((element.clientHeight - 12) / box.height)));
    if (columns === screen.columns && rows === screen.rows) return false;
    screen.resize(columns, rows);
    draw();
    return true;
  }

  socket.onopen = () => {
    fit();
    send('c', JSON.stringify({terminal: true, columns: screen.columns, rows: screen.rows, term: 'xterm-256color'}));
    typed.focus();
  };
  socket.onmessage = e => take(new Uint8Array(e.data));
  socket.onerror = () => end(t('terminal.lost'));
  socket.onclose = () => end(t('terminal.lost'));
  life.add(() => socket.close());
  life.listen(window, 'resize', () => { if (fit()) send('w', JSON.stringify({columns: screen.columns, rows: screen.rows})); });

  typed.addEventListener('keydown', e => {
    if (e.isComposing) return;
    const bytes = screen.key(e);
    if (bytes === null) return;
    e.preventDefault();
    send('i', bytes);
  });
  typed.addEventListener('input', e => {
    if (e.isComposing) return;
    send('i', typed.value);
    typed.value = '';
  });
  typed.addEventListener('compositionend', () => { send('i', typed.value); typed.value = ''; });
  typed.addEventListener('paste', e => {
    e.preventDefault();
    const text = e.clipboardData.getData('text').replace(/\r?\n/g, '\r');
    send('i', screen.bracketed ? `\x1b[200~${text}\x1b[201~` : text);
  });
  requestAnimationFrame(() => { if (!life.over) fit(); });
  return h('div', {}, element, h('p', {class: 'sub'}, t('terminal.about')));
}
