import { collapseControls } from './sanitize.js';

/** Text from elsewhere on one line. This protects the layout only: the output stream protects the terminal. */
export const singleLine = collapseControls;

export function truncate(text: string, width: number | null): string {
  const line = singleLine(text);
  return width !== null && line.length > width ? `${line.slice(0, Math.max(width - 1, 0))}…` : line;
}

export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** The text with a full stop, unless it ends a sentence already. */
export const withFullStop = (text: string): string =>
  text === '' || /[.!?…]$/.test(text.trimEnd()) ? text : `${text}.`;

/** `2026-01-04T06:05:00.000Z` becomes `2026-01-04 06:05:00`. */
export const formatUtc = (iso: string | null): string =>
  iso === null ? '' : iso.slice(0, 19).replace('T', ' ');

/** A time relative to now: `in 4 min`, `now`, `12 s ago`. */
export function relativeTime(iso: string | null, nowMs: number): string {
  if (iso === null) return '';
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1000);
  if (seconds === 0) return 'now';
  const durationPart = durationText(Math.abs(seconds));
  return seconds > 0 ? `in ${durationPart}` : `${durationPart} ago`;
}

export const untilText = (iso: string): string =>
  `until ${formatUtc(iso)} UTC (${relativeTime(iso, Date.now())})`;

export function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** A heading with its lines after a blank line; nothing if there are no lines. */
export const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', heading, ...lines];

/** The lines of the first items, and how many more items there are. */
export function firstLines<T>(
  items: readonly T[],
  max: number,
  linesOf: (item: T, index: number) => string | readonly string[],
  moreText = (more: number): string => `  and ${more} more`,
): string[] {
  const lines = items.slice(0, max).flatMap(linesOf);
  return items.length > max ? [...lines, moreText(items.length - max)] : lines;
}

/** The first names as a string, and how many more there are. */
export const joinFirst = (names: readonly string[], max: number): string =>
  names.slice(0, max).join(', ') + (names.length > max ? ` and ${names.length - max} more` : '');
