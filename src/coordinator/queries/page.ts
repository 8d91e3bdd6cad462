import { PAGE_MAX, type PageQuery } from '../../core/contract/schema.js';
import type { SliceableWork } from '../../core/sliceable-work.js';

/** Maximum JSON length of a page's items together. The last item may exceed it, because it is added whole. */
export const PAGE_CHARS_MAX = 4 * 1024 * 1024;

export const limitOf = ({ limit }: PageQuery): number => Math.min(Math.max(limit ?? PAGE_MAX, 1), PAGE_MAX);

/** One page of items that are sorted by name, and the name to continue after; null if it is the last page. */
export function pageOf<T>(items: readonly T[], nameOf: (item: T) => string, query: PageQuery) {
  const { after } = query;
  const remainingItems = after === undefined ? items : items.filter((item) => nameOf(item) > after);
  const page = remainingItems.slice(0, limitOf(query));
  const last = page.at(-1);
  return {
    items: page,
    next: last === undefined || page.length === remainingItems.length ? null : nameOf(last),
  };
}

const NAMES_BETWEEN_PAUSES = 200;

/** The first names after `after`, sorted, without sorting all names. */
export function* firstNames(names: Iterable<string>, after: string, count: number): SliceableWork<string[]> {
  let firstSorted: string[] = [];
  let scannedCount = 0;
  for (const name of names) {
    if (name > after) firstSorted.push(name);
    if (firstSorted.length >= 4 * count) firstSorted = firstSorted.sort().slice(0, count);
    scannedCount += 1;
    if (scannedCount % NAMES_BETWEEN_PAUSES === 0) yield;
  }
  return firstSorted.sort().slice(0, count);
}

/** The latest items that fit into one reply. Older ones are dropped and counted in `omitted`. */
export class LatestItems<T> {
  readonly items: T[] = [];
  omitted = 0;
  private readonly chars: number[] = [];
  private totalChars = 0;

  constructor(private readonly countMax = PAGE_MAX) {}

  push(item: T, chars = 0): void {
    this.items.push(item);
    this.chars.push(chars);
    this.totalChars += chars;
    while (this.items.length > 1 && (this.items.length > this.countMax || this.totalChars > PAGE_CHARS_MAX)) {
      this.items.shift();
      this.totalChars -= this.chars.shift() ?? 0;
      this.omitted += 1;
    }
  }
}
