import { expect, test } from 'vitest';
import { bestOf } from '../bench/http/best.js';
import { readOptions } from '../bench/http/options.js';
import type { PartRow } from '../bench/http/part-report.js';
import { peersTable } from '../bench/http/peers.js';
import { SeriesList } from '../bench/http/series.js';

const run = (jobs: number, p99_ms: number) => ({
  seconds: 2,
  jobs,
  requests: 1,
  latencies: { claim: { count: 1, p50_ms: 1, p99_ms }, complete: { count: 1, p50_ms: 1, p99_ms } },
});

test('the best batch is the fastest within the latency limit, or the fastest of all if none is within it', () => {
  const runs = [run(100, 20), run(300, 49), run(500, 51), run(200, 10)];
  expect(bestOf(runs, 'claim', (one) => one)).toEqual({ run: runs[1], in_time: true });
  expect(bestOf(runs, 'complete', (one) => one)).toEqual({ run: runs[2], in_time: true });
  expect(bestOf([run(1, 90), run(2, 80)], 'claim', (one) => one)).toMatchObject({
    run: { jobs: 2 },
    in_time: false,
  });
  expect(bestOf([], 'claim', () => run(1, 1))).toBeNull();
});

test('--batch selects the batch sizes, and all four are the default', () => {
  expect(readOptions([]).batchSizes).toEqual([50, 100, 250, 500]);
  expect(readOptions(['--batch', '250']).batchSizes).toEqual([250]);
  expect(() => readOptions(['--batch', '0'])).toThrow('not a positive integer');
});

test('--rounds sets the number of rounds, --against alone means seven rounds, and neither means no rounds', () => {
  expect(readOptions([]).rounds).toBeNull();
  expect(readOptions(['--rounds', '3'])).toMatchObject({ rounds: 3, against: null });
  expect(readOptions(['--against', 'main']).rounds).toBe(7);
  expect(readOptions(['--against', 'main', '--rounds', '9']).rounds).toBe(9);
});

const row = (system: string, store: PartRow['store'], jobs: number): PartRow => ({
  ...{ system, store, is_ours: system === 'ours', workload: 'work', durable: '', remarks: '' },
  measured: { ...run(jobs, 1), database_cpu_seconds: 1 },
});

test('ours is compared round by round with the job queues on the same database only', () => {
  const series = new SeriesList();
  for (const [ours, peer] of [
    [100, 200],
    [300, 200],
    [80, 100],
  ] as const) {
    series.add(row('ours', 'redis', ours));
    series.add(row('peer, Redis 7', 'redis', peer));
    series.add(row('other, PostgreSQL 15', 'postgres', peer));
  }
  const [, , line, ...more] = (peersTable(series.all) ?? '').split('\n');
  expect(more).toEqual([]);
  expect(line?.split(/ {2,}/)).toEqual([
    ...['redis: work', 'peer', 'work', '50', '100', '0.80', '0.50–1.50'],
    ...['10,000', '5,000', '1.25', '0.67–2.00'],
  ]);
});

test('two versions of ours are two series, and a job queue is one', () => {
  const series = new SeriesList();
  for (const version of ['before', 'after']) {
    series.add(row('ours', 'redis', 1), version);
    series.add(row('peer', 'redis', 1), version);
  }
  series.add({ ...row('missing', 'redis', 1), measured: null });
  const found = series.all.map(({ version, system, measured }) => [version, system, measured.length]);
  expect(found).toEqual([
    ['before', 'ours', 1],
    [null, 'peer', 2],
    ['after', 'ours', 1],
  ]);
});
