// Messages are data: messages_en.json and messages_zh.json have the same keys and placeholders.

export const languages = {en: 'English', zh: '简体中文'};
let messages = {};
let fallback = {};
export let language = 'en';

async function load(name) {
  const response = await fetch(new URL(`messages_${name}.json`, import.meta.url));
  return response.ok ? response.json() : {};
}

export function wanted() {
  const kept = localStorage.getItem('assay.language');
  if (kept in languages) return kept;
  return navigator.languages.some(l => l.startsWith('zh')) && !navigator.language.startsWith('en') ? 'zh' : 'en';
}

export async function speak(name) {
  language = name in languages ? name : 'en';
  messages = await load(language);
  fallback = language === 'en' ? messages : await load('en');
  document.documentElement.lang = language === 'zh' ? 'zh-Hans' : 'en';
}

export function t(key, values) {
  let text = messages[key] ?? fallback[key] ?? key;
  if (values && values.n === 1 && messages[key + '.one'] !== undefined) text = messages[key + '.one'];
  return text.replace(/\{([a-z_]+)\}/g, (all, name) => values && name in values ? String(values[name]) : all);
}

export const known = key => key in messages || key in fallback;
// The word for a value of the server, or the value itself.
export const term = (kind, value) => value && known(`${kind}.${value}`) ? t(`${kind}.${value}`) : value ?? '';
