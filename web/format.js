import {language, t} from './i18n.js';

const locale = () => language === 'zh' ? 'zh-Hans' : 'en';

export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e7)) return value.toExponential(Math.max(digits - 3, 1));
  return new Intl.NumberFormat(locale(), {maximumSignificantDigits: digits}).format(value);
}

export function bytes(value) {
  if (!Number.isFinite(value)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let i = 0;
  while (Math.abs(value) >= 1024 && i + 1 < units.length) { value /= 1024; ++i; }
  return `${number(value, 3)} ${units[i]}`;
}

export const quantity = (value, unit) => unit === 'B' ? bytes(value) : unit ? `${number(value)} ${unit}` : number(value);

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return t('time.s', {s});
  if (s < 3600) return t('time.min', {m: Math.floor(s / 60), s: s % 60});
  if (s < 86400) return t('time.h', {h: Math.floor(s / 3600), m: Math.floor(s % 3600 / 60)});
  return t('time.d', {d: Math.floor(s / 86400), h: Math.floor(s % 86400 / 3600)});
}

export function moment(iso) {
  const date = new Date(iso);
  if (!iso || Number.isNaN(date.getTime())) return '–';
  const day = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(locale(), day ? {hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'}
                                           : {month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});
}

export function clock(seconds, withDate) {
  const date = new Date(seconds * 1000);
  return date.toLocaleTimeString(locale(), {hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'}) +
         (withDate ? ' ' + date.toLocaleDateString(locale(), {month: 'short', day: 'numeric'}) : '');
}

export function ago(iso) {
  const seconds = (Date.now() - new Date(iso).getTime()) / 1000;
  return Number.isFinite(seconds) ? t(seconds < 0 ? 'time.in' : 'time.ago', {time: duration(Math.abs(seconds))}) : '–';
}
