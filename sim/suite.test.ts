import { describe, expect, it } from 'vitest';
import { LONG_SEEDS, readPart, seedRuns, WINDOW_SEEDS, windowStart } from './suite.js';

const COMMIT = 'ec44be2f00112233445566778899aabbccddeeff';

describe('the seeds of a commit', () => {
  it('are the same each time and come after the seeds of the long run', () => {
    expect(windowStart(COMMIT)).toBe(windowStart(COMMIT));
    expect(windowStart('00000000')).toBe(LONG_SEEDS + 1);
    expect(windowStart('00000001')).toBe(LONG_SEEDS + 1 + WINDOW_SEEDS);
  });
});

describe('the parts of a long run', () => {
  it.each([1, 2, 3, 8])('run every seed once when there are %i parts', (count) => {
    const parts = Array.from({ length: count }, (_, index) => [...seedRuns(1, 100, { index, count })]).flat();
    expect(parts.map(({ seed }) => seed).sort((a, b) => a - b)).toEqual(
      [...Array(100).keys()].map((n) => n + 1),
    );
  });

  it('each run both modes', () => {
    for (const index of [0, 1, 2, 3]) {
      const modes = [...seedRuns(1, 100, { index, count: 4 })].map(({ mode }) => mode);
      expect(new Set(modes)).toEqual(new Set(['safety', 'liveness']));
    }
  });

  it('are selected by number or by the commit', () => {
    expect(readPart(undefined, COMMIT)).toEqual({ index: 0, count: 1 });
    expect(readPart('2/8', COMMIT)).toEqual({ index: 1, count: 8 });
    expect(readPart('auto/8', COMMIT)).toEqual({ index: 0xec44be2f % 8, count: 8 });
  });

  it.each(['0/8', '9/8', '2', 'x/8', '2/0', '2/8/1'])('are refused as %s', (text) => {
    expect(() => readPart(text, COMMIT)).toThrow('Pass a part such as 2/8');
  });
});
