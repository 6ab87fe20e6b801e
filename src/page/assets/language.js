"use strict";
// The page in the reader's language, and a button for the other one. What was written is complete
// without it, in one language.
(() => {
  const words = JSON.parse(document.getElementById("words").textContent);
  const languages = ["en", "zh"];
  const untouched = ["SCRIPT", "STYLE", "CODE", "PRE", "TEXTAREA"];
  const attributes = ["title", "aria-label", "data-label", "placeholder", "alt"];
  const written = languages.indexOf(words.first);

  // The texts of the page in the order in which they were translated: two texts of one language may
  // be the same in the other.
  const places = [];
  let next = 0;
  const visit = (text, change) => {
    const trimmed = text.trim();
    for (let at = next; at < Math.min(next + 16, words.order.length); ++at) {
      const pair = words.texts[words.order[at]];
      if (pair[written] !== trimmed) continue;
      places.push({ pair, change });
      next = at + 1;
      return;
    }
  };
  const isName = (element) => element.getAttribute?.("translate") === "no";
  const walk = document.createTreeWalker(
    document.documentElement, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT,
    (node) => untouched.includes(node.parentNode.nodeName) || untouched.includes(node.nodeName) ||
      isName(node.parentNode) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  for (let node = walk.currentNode; node; node = walk.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      const text = node;
      visit(text.data, (before, after) => { text.data = text.data.replace(before, () => after); });
    } else if (!isName(node)) {
      for (const attribute of node.attributes)
        if (attributes.includes(attribute.name))
          visit(attribute.value, (before, after) => { attribute.value = after; });
    }
  }

  const remembered = (value) => {
    try {
      if (value) localStorage.setItem("assay-language", value);
      return localStorage.getItem("assay-language");
    } catch {
      return null;  // a page opened as a file may have no storage
    }
  };

  let shown = written;
  const button = document.createElement("button");
  const show = (language) => {
    if (language !== shown)
      for (const { pair, change } of places) change(pair[shown], pair[language]);
    shown = language;
    document.documentElement.lang = ["en", "zh-CN"][shown];
    button.textContent = ["中文", "English"][shown];
    button.lang = ["zh-CN", "en"][shown];
  };
  button.className = "language";
  button.type = "button";
  button.addEventListener("click", () => {
    show(1 - shown);
    remembered(languages[shown]);
  });
  // A page that shows this one says in which language it is itself: report.html#lang=zh
  const asked = languages.indexOf(new URLSearchParams(location.hash.slice(1)).get("lang"));
  const wanted = languages.indexOf(remembered());
  const reads = navigator.language.startsWith("zh") ? 1 : written;
  show(asked >= 0 ? asked : wanted >= 0 ? wanted : reads);
  document.body.prepend(button);
})();
