import { describe, expect, it } from 'vitest';
import { range } from '../conformance/fixture.js';
import { EventPages } from './event-pages.js';
import { BUCKET_SIZE } from './keys.js';

const pagesOf = (lines: readonly string[], first: number): EventPages => {
  const pages = new EventPages();
  for (const [index, line] of lines.entries()) pages.add(line, first + index, index);
  return pages;
};
const lastPositions = ({ pages }: EventPages): number[] => pages.map((page) => page.last_position);

describe('pages of events', () => {
  it('end where their bucket ends, and have the latest time of all earlier events', () => {
    const pages = pagesOf(
      range(1, 10).map(() => 'x'),
      BUCKET_SIZE - 4,
    );
    expect(lastPositions(pages)).toEqual([BUCKET_SIZE - 1, BUCKET_SIZE + 5]);
    expect(pages.pages.map(({ lines, high_ms }) => [lines.length, high_ms])).toEqual([
      [4, 0],
      [6, 4],
    ]);
  });

  it('take no more than 64 KB, unless one event alone is longer', () => {
    const lines = ['x'.repeat(40_000), 'x'.repeat(30_000), 'ü'.repeat(20_000), 'x'.repeat(90_000), 'x'];
    expect(lastPositions(pagesOf(lines, 1))).toEqual([1, 2, 3, 4, 5]);
    expect(
      lastPositions(
        pagesOf(
          lines.slice(1, 3).map((line) => line.slice(0, 15_000)),
          1,
        ),
      ),
    ).toEqual([2]);
  });

  it('are counted before they are added', () => {
    const lines = range(1, 200).map((n) => 'x'.repeat((n * 997) % 20_000));
    for (const split of [0, 1, 50, 199, 200]) {
      const [before, after] = [lines.slice(0, split), lines.slice(split)];
      const first = BUCKET_SIZE - 100;
      expect(pagesOf(before, first).countWith(after, first + split)).toBe(pagesOf(lines, first).pages.length);
    }
  });
});
