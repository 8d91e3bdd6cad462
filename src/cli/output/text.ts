import { collapseControls } from './sanitize.js';

/** Text from elsewhere on one line. This protects the layout only: the output stream protects the terminal. */
export const singleLine = collapseControls;

export function truncate(text: string, width: number | null): string {
  const line = singleLine(text);
  return width !== null && line.length > width ? `${line.slice(0, Math.max(width - 1, 0))}…` : line;
}

export const countText = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;

/** `2026-01-04T06:05:00.000Z` becomes `2026-01-04 06:05:00`. */
export const clockTime = (iso: string | null): string =>
  iso === null ? '' : iso.slice(0, 19).replace('T', ' ');

/** A time relative to now: `in 4 min`, `12 s ago`. */
export function relativeTime(iso: string | null, nowMs: number): string {
  if (iso === null) return '';
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1000);
  const durationPart = durationText(Math.abs(seconds));
  return seconds >= 0 ? `in ${durationPart}` : `${durationPart} ago`;
}

export function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
