/** The commit functions' value for "forever" and "any time". */
const INT64_MAX = '9223372036854775807';

/** The database counts whole milliseconds; rounding up gives the same comparisons. */
export function wholeMs(ms: number): number | string {
  return ms > Number.MAX_SAFE_INTEGER ? INT64_MAX : Math.ceil(ms);
}

/** The end of a permit; 0: it is released. */
export const untilOf = (untilMs: number | null): number | string =>
  untilMs === null ? 0 : wholeMs(Math.max(untilMs, 1));

/** An array of numbers or truth values. */
export const encodeNumbers = (list: readonly (number | string)[]): string => `{${list.join()}}`;

/** One text per line, which is safe because encoded JSON contains no line feed. */
export const encodeLines = (list: readonly string[]): string => list.join('\n');

/**
 * One name per line. An empty line is a missing name; if all are missing, the text is empty. Ids contain neither line
 * feeds nor NUL, which PostgreSQL cannot store.
 */
export function encodeNames(list: readonly (string | undefined)[]): string {
  const text = list.join('\n');
  if (list.includes('') || text.includes('\0') || text.split('\n').length > Math.max(list.length, 1)) {
    const invalid = list.find((name) => name === '' || /[\n\0]/.test(name ?? ''));
    throw new Error(`PostgreSQL: ${JSON.stringify(invalid)} is empty or contains a line feed or a NUL.`);
  }
  return text.length < list.length ? '' : text;
}
