import { expect, test } from 'vitest';
import { bestOf } from '../bench/http/best.js';
import { readOptions } from '../bench/http/options.js';

const run = (jobs: number, p99_ms: number) => ({
  seconds: 2,
  jobs,
  requests: 1,
  operations: { take: { count: 1, p50_ms: 1, p99_ms }, complete: { count: 1, p50_ms: 1, p99_ms } },
});

test('the best batch is the fastest within the latency limit, or the fastest of all if none is within it', () => {
  const runs = [run(100, 20), run(300, 49), run(500, 51), run(200, 10)];
  expect(bestOf(runs, 'take', (one) => one)).toEqual({ run: runs[1], in_time: true });
  expect(bestOf(runs, 'complete', (one) => one)).toEqual({ run: runs[2], in_time: true });
  expect(bestOf([run(1, 90), run(2, 80)], 'take', (one) => one)).toMatchObject({
    run: { jobs: 2 },
    in_time: false,
  });
  expect(bestOf([], 'take', () => run(1, 1))).toBeNull();
});

test('--batch selects the batch sizes, and all four are the default', () => {
  expect(readOptions([]).batch).toEqual([50, 100, 250, 500]);
  expect(readOptions(['--batch', '250']).batch).toEqual([250]);
  expect(() => readOptions(['--batch', '0'])).toThrow('not a positive integer');
});
