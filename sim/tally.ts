import { SOMETIMES, type Sometimes } from './checks/sometimes.js';
import { describeRun } from './replay.js';
import type { SeedResult } from './run-seed.js';

/** What many seeds came to. */
export interface Tally {
  seeds: number;
  commands: number;
  steps: number;
  simulated_ms: number;
  failures: SeedResult[];
  readonly sometimes: Record<Sometimes, number>;
}

const FAILURES_KEPT_MAX = 100;

export const emptyTally = (): Tally => ({
  seeds: 0,
  commands: 0,
  steps: 0,
  simulated_ms: 0,
  failures: [],
  sometimes: Object.fromEntries(SOMETIMES.map((state) => [state, 0])) as Record<Sometimes, number>,
});

export function count(tally: Tally, result: SeedResult): void {
  tally.seeds += 1;
  tally.commands += result.commands;
  tally.steps += result.steps;
  tally.simulated_ms += result.simulated_ms;
  if (result.violation !== null && tally.failures.length < FAILURES_KEPT_MAX) tally.failures.push(result);
  for (const state of SOMETIMES) tally.sometimes[state] += result.sometimes[state] ?? 0;
}

export function neverReached(tally: Tally): Sometimes[] {
  return SOMETIMES.filter((state) => tally.sometimes[state] === 0);
}

export function summary(tally: Tally): string {
  const rows: [string, string | number][] = [
    ['seeds', tally.seeds],
    ['commands', tally.commands],
    ['simulated hours', (tally.simulated_ms / 3_600_000).toFixed(1)],
    ['violations', tally.failures.length],
    ...SOMETIMES.map((state): [string, number] => [`sometimes: ${state}`, tally.sometimes[state]]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `${name.padEnd(width)}  ${String(value).padStart(12)}`);
  const failures = tally.failures.map((result) => `${describeRun(result.run)}\n    ${result.violation}`);
  return [...table, ...failures].join('\n');
}
