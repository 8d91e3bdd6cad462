import { expect, test } from 'vitest';
import { costText, runDuration, shortRunId, stateDuration, storedDigest } from './run-texts.js';

const COST = { input_tokens: 0, output_tokens: 0, usd: 0, seconds: 1 };

test('a cost shows money and tokens, or that the money is unknown', () => {
  expect(costText(COST)).toBe('–');
  expect(costText({ ...COST, usd: 0.5, input_tokens: 1000, output_tokens: 200 })).toBe('$0.50, 1,200 tokens');
  expect(costText({ ...COST, usd: 0.0012 })).toBe('$0.0012');
  expect(costText({ ...COST, usd: null, input_tokens: 5 })).toBe('cost unknown, 5 tokens');
});

test('runs of the same minute have different short ids', () => {
  expect(shortRunId('01a1f15e-b887-77b4-ab0a-6576fbca40a4')).toBe('…fbca40a4');
  expect(shortRunId('run-1')).toBe('run-1');
});

test('the duration of a run that has not ended is counted until now', () => {
  const started_at = '2026-01-01T00:00:00.000Z';
  const now = Date.parse('2026-01-01T00:01:05.000Z');
  expect(runDuration({ started_at: null, ended_at: null }, now)).toBeNull();
  expect(runDuration({ started_at, ended_at: null }, now)).toBe('1 min 5 s');
  expect(runDuration({ started_at, ended_at: '2026-01-01T00:00:02.000Z' }, now)).toBe('2 s');
});

test('the duration of a state is from its first start to its last end', () => {
  const isoAt = (second: number) => new Date(second * 1000).toISOString();
  const steps = [
    { started_at: isoAt(0), ended_at: isoAt(3) },
    { started_at: isoAt(1), ended_at: isoAt(4) },
  ];
  expect(stateDuration(steps)).toBe('4 s');
  expect(stateDuration([...steps, { started_at: isoAt(2), ended_at: null }])).toBeNull();
  expect(stateDuration([])).toBeNull();
});

test('only a blob of this server can be read by its digest', () => {
  const version = 'a'.repeat(64);
  expect(storedDigest({ bucket: '', key: 'k', version })).toBe(version);
  expect(storedDigest({ bucket: 'b', key: 'k', version })).toBeNull();
  expect(storedDigest({ bucket: '', key: 'k', version: '1' })).toBeNull();
});
