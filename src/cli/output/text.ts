import { onOneLine } from './plain.js';

/** What others wrote, on one line. It keeps the layout whole; the terminal is safe without it. */
export const plainText = onOneLine;

export function cut(text: string, width: number | null): string {
  const plain = plainText(text);
  return width !== null && plain.length > width ? `${plain.slice(0, Math.max(width - 1, 0))}…` : plain;
}

export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;

/** `2026-01-04T06:05:00.000Z` as a table shows it. */
export const clockTime = (iso: string | null): string =>
  iso === null ? '' : iso.slice(0, 19).replace('T', ' ');

/** How far away a time is: `in 4 min`, `12 s ago`. */
export function distance(iso: string | null, now_ms: number): string {
  if (iso === null) return '';
  const seconds = Math.round((Date.parse(iso) - now_ms) / 1000);
  const far = span(Math.abs(seconds));
  return seconds >= 0 ? `in ${far}` : `${far} ago`;
}

export function span(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
