// The console of a run: only the visible lines are in the page, whatever their number.
import {get, whole} from './api.js';
import {h, replace, visible} from './dom.js';
import {t} from './i18n.js';
import {deed} from './parts.js';

const kLine = 20, kPage = 200, kPages = 60, kTallest = 8e6;

export function consoleView(path, query, life) {
  let rank = 'all', show = 'all', total = 0, generation = 0, follow = true, ended = false, firstError = null;
  let found = null, foundAt = -1, marked = 0;
  const pages = new Map();    // number → lines; the oldest first
  const asking = new Set();
  const sizer = h('div', {class: 'sizer'});
  const rows = h('div', {class: 'rows'});
  const box = h('div', {class: 'console', tabindex: '0', role: 'log', 'aria-label': t('job.console')}, sizer, rows);
  const ranks = h('select', {'aria-label': t('console.ranks'), onchange: e => { rank = e.target.value; anew(); }}, h('option', {value: 'all'}, t('console.all')));
  const kinds = h('select', {'aria-label': t('console.show'), onchange: e => { show = e.target.value; anew(); }},
      ['all', 'text', 'warnings', 'errors'].map(k => h('option', {value: k}, t(`console.show.${k}`))));
  const following = h('input', {type: 'checkbox', checked: true, onchange: e => { follow = e.target.checked; if (follow) toEnd(); }});
  const search = h('input', {type: 'search', placeholder: t('console.search'), 'aria-label': t('console.search'), maxlength: '500',
    onkeydown: e => { if (e.key === 'Enter') { e.preventDefault(); next(e.shiftKey ? -1 : 1); } },
    oninput: () => { found = null; marked = 0; replace(hits, ''); draw(); }});
  const hits = h('span', {class: 'sub', role: 'status'});
  const error = h('button', {type: 'button', class: 'second', disabled: true, onclick: () => { if (firstError) go(firstError); }}, t('console.first'));
  const download = deed(t('console.download'), async () => {
    try {
      const file = await whole(path + '/download', {...query, rank}, bytes => replace(download, `${t('console.download')} ${(bytes / 2 ** 20).toFixed(1)} MiB`));
      const link = h('a', {href: URL.createObjectURL(file), download: file.name});
      link.click();
      // Not at once: the browser reads it after the click.
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    } finally {
      replace(download, t('console.download'));
    }
  }, 'second');
  const state = h('p', {class: 'said', role: 'status'}, t('loading'));
  const body = h('div', {class: 'console-view'},
      h('div', {class: 'toolbar'}, ranks, kinds, h('label', {class: 'check'}, following, t('console.follow')), error,
        h('span', {class: 'grow'}, search, h('button', {type: 'button', class: 'second', 'aria-label': t('console.previous'), onclick: () => next(-1)}, '↑'),
          h('button', {type: 'button', class: 'second', 'aria-label': t('console.next'), onclick: () => next(1)}, '↓'), hits), download),
      box, state);

  const height = () => Math.min(total * kLine, kTallest);
  const visibleLines = () => Math.max(Math.floor(box.clientHeight / kLine), 1);
  const scaled = () => total * kLine > kTallest;
  let exact = null;   // the top line while the scroll bar is too coarse to say it
  function top() {
    if (!scaled()) return Math.floor(box.scrollTop / kLine);
    if (exact !== null) return exact;
    return Math.round(box.scrollTop / Math.max(height() - box.clientHeight, 1) * Math.max(total - visibleLines(), 0));
  }
  function scrollTo(line) {
    line = Math.max(0, Math.min(line, total - visibleLines()));
    exact = scaled() ? line : null;
    box.scrollTop = scaled() ? line / Math.max(total - visibleLines(), 1) * (height() - box.clientHeight) : line * kLine;
    draw();
  }
  function toEnd() { scrollTo(total - visibleLines() + 1); }
  // Line numbers begin at 1.
  function go(number) {
    follow = following.checked = false;
    marked = number;
    scrollTo(number - 1 - Math.floor(visibleLines() / 3));
  }

  function lineAt(index) {
    const page = pages.get(Math.floor(index / kPage));
    return page && page[index % kPage];
  }
  async function need(index) {
    const page = Math.floor(index / kPage);
    if (asking.has(page) || life.over) return;
    asking.add(page);
    // An answer may contain only a part of the page: long lines fill it sooner.
    const from = pages.has(page) ? index : page * kPage;
    try { take(await get(path, {...query, rank, show, from: from + 1, lines: (page + 1) * kPage - from})); } catch (e) { fail(e); }
    if (!pages.get(page)?.[from % kPage]) await new Promise(done => setTimeout(done, 1000));
    asking.delete(page);
    draw();
  }
  function take(answer) {
    if (answer.generation !== generation) { pages.clear(); generation = answer.generation; total = 0; }
    for (const line of answer.lines) {
      const number = Math.floor((line.n - 1) / kPage);
      const page = pages.get(number) ?? [];
      page[(line.n - 1) % kPage] = line;
      pages.delete(number);
      pages.set(number, page);
    }
    while (pages.size > kPages) pages.delete(pages.keys().next().value);
    total = answer.total;
    firstError = answer.first_error;
    error.disabled = !firstError;
    ended = answer.ended && !answer.indexing;
    if (ranks.options.length !== answer.ranks.length + 1) {
      replace(ranks, h('option', {value: 'all'}, t('console.all')), answer.ranks.map(r => h('option', {value: r}, t('console.rank', {rank: r}))));
      ranks.value = rank;
    }
    replace(state, answer.why ? t('console.late') : answer.indexing ? t('indexing') : total ? t(ended ? 'console.ended' : 'console.lines', {n: total.toLocaleString()}) : t(ended ? 'console.none' : 'console.waiting'));
    sizer.style.height = `${height()}px`;
  }
  function fail(e) {
    replace(state, e.code === 'unreachable' ? t('error.unreachable') : e.status === 404 ? t('metrics.norun') : e.message);
  }

  function draw() {
    const first = Math.max(top(), 0), count = visibleLines() + 2;
    const list = [];
    for (let i = first; i < Math.min(first + count, total); ++i) {
      const line = lineAt(i);
      if (!line) need(i);
      list.push(row(i + 1, line));
    }
    rows.style.transform = `translateY(${scaled() ? box.scrollTop : first * kLine}px)`;
    replace(rows, list);
  }
  function row(number, line) {
    if (!line) return h('div', {class: 'line'}, h('i', {}, number), h('span', {class: 'sub'}, '…'));
    const classes = `line ${line.level}${number === marked ? ' marked' : ''}`;
    return h('div', {class: classes}, h('i', {}, number),
        rank === 'all' && h('b', {class: `r${(line.rank ?? 0) % 8}`, title: [line.case, line.node].filter(Boolean).join(' · ')}, line.rank ?? '·'),
        h('span', {}, pieces(line.gone ? t('console.gone') : visible(line.text.replaceAll('\t', '    '))), line.cut ? h('em', {}, t('console.cut', {n: line.cut})) : null));
  }
  function pieces(text) {
    const needle = search.value.toLowerCase();
    if (!needle) return text;
    const lower = text.toLowerCase();
    if (lower.length !== text.length) return text;
    const out = [];
    let at = 0;
    for (let i = lower.indexOf(needle); i >= 0 && out.length < 100; i = lower.indexOf(needle, at)) {
      out.push(text.slice(at, i), h('mark', {}, text.slice(i, i + needle.length)));
      at = i + needle.length;
    }
    return [...out, text.slice(at)];
  }

  async function next(direction) {
    const text = search.value;
    if (!text) return;
    if (!found || found.text !== text || found.rank !== rank || found.show !== show) {
      found = {text, rank, show, lines: [], from: 1, whole: false};
      foundAt = -1;
    }
    const mine = found;
    const enough = () => direction < 0 || foundAt + direction < mine.lines.length;
    while (!mine.whole && !enough()) {
      replace(hits, t('console.searching'));
      let answer;
      try { answer = await get(path, {...query, rank, show, search: text, from: mine.from, lines: 500}); } catch (e) { fail(e); return; }
      if (mine !== found) return;
      mine.lines.push(...answer.lines.map(l => l.n));
      mine.from = answer.next;
      mine.whole = answer.next > answer.total;
    }
    if (!mine.lines.length) { replace(hits, t('console.nothing')); return; }
    foundAt = (foundAt + direction + mine.lines.length) % mine.lines.length;
    replace(hits, t('console.hit', {i: foundAt + 1, n: mine.lines.length + (mine.whole ? '' : '+')}));
    go(mine.lines[foundAt]);
  }

  async function anew() {
    pages.clear();
    total = 0;
    found = null;
    exact = null;
    await news();
    if (follow) toEnd(); else scrollTo(0);
  }
  let busy = false;
  async function news() {
    if (busy || life.over) return;
    busy = true;
    const before = total;
    try { take(await get(path, {...query, rank, show, from: total ? total + 1 : -kPage, lines: kPage})); } catch (e) { fail(e); }
    busy = false;
    if (life.over) return;
    if (follow && total !== before) toEnd(); else draw();
  }
  let lastTop = 0;
  box.addEventListener('scroll', () => {
    if (scaled() && Math.abs(box.scrollTop - lastTop) > 2) exact = exact !== null && Math.abs(box.scrollTop - exact / Math.max(total - visibleLines(), 1) * (height() - box.clientHeight)) < 3 ? exact : null;
    lastTop = box.scrollTop;
    draw();
  });
  // A user who scrolls up wants to read.
  const reading = () => { if (follow && top() + visibleLines() < total - 1) follow = following.checked = false; };
  box.addEventListener('wheel', e => {
    setTimeout(reading, 50);
    if (!scaled() || !e.deltaY) return;
    e.preventDefault();
    scrollTo(top() + Math.sign(e.deltaY) * Math.max(Math.round(Math.abs(e.deltaY) / kLine), 1));
  }, {passive: false});
  box.addEventListener('touchmove', () => setTimeout(reading, 50), {passive: true});
  box.addEventListener('keydown', e => {
    const steps = {PageUp: -visibleLines(), PageDown: visibleLines(), ArrowUp: -1, ArrowDown: 1};
    if (e.key in steps) scrollTo(top() + steps[e.key]);
    else if (e.key === 'Home') scrollTo(0);
    else if (e.key === 'End') toEnd();
    else return;
    e.preventDefault();
    reading();
  });
  life.listen(window, 'resize', draw);
  life.listen(window, 'keydown', e => {
    if ((e.key === '/' || (e.key === 'f' && (e.ctrlKey || e.metaKey))) && !/INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName)) {
      e.preventDefault();
      search.focus();
    }
  });
  requestAnimationFrame(anew);
  life.every(1000, () => { if (!ended) news(); });
  return body;
}
