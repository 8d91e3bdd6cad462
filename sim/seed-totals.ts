import { COVERAGE_GOALS, type CoverageGoal, RUN_GOALS } from './checks/coverage.js';
import { replayCommand } from './replay.js';
import type { SeedResult } from './run-seed.js';

/** The combined result of many runs. `seeds` counts runs: a seed that was played in several modes counts for each. */
export interface SeedTotals {
  seeds: number;
  commands: number;
  steps: number;
  simulated_ms: number;
  /** The first `FAILURES_KEPT_MAX` failed runs. */
  failures: SeedResult[];
  readonly coverage: Record<CoverageGoal, number>;
}

const ALL_GOALS: readonly CoverageGoal[] = [...COVERAGE_GOALS, ...RUN_GOALS];
const FAILURES_KEPT_MAX = 100;

export const emptySeedTotals = (): SeedTotals => ({
  seeds: 0,
  commands: 0,
  steps: 0,
  simulated_ms: 0,
  failures: [],
  coverage: Object.fromEntries(ALL_GOALS.map((goal) => [goal, 0])) as Record<CoverageGoal, number>,
});

export function addSeedResult(totals: SeedTotals, result: SeedResult): void {
  totals.seeds += 1;
  totals.commands += result.commands;
  totals.steps += result.steps;
  totals.simulated_ms += result.simulated_ms;
  if (result.violation !== null && totals.failures.length < FAILURES_KEPT_MAX) totals.failures.push(result);
  for (const goal of ALL_GOALS) totals.coverage[goal] += result.coverage[goal] ?? 0;
}

export function unreachedGoals(totals: SeedTotals): CoverageGoal[] {
  return COVERAGE_GOALS.filter((goal) => totals.coverage[goal] === 0);
}

export function formatSeedTotals(totals: SeedTotals): string {
  const rows: [string, string | number][] = [
    ['runs', totals.seeds],
    ['commands', totals.commands],
    ['simulated hours', (totals.simulated_ms / 3_600_000).toFixed(1)],
    ['violations', totals.failures.length],
    ...ALL_GOALS.map((goal): [string, number] => [`sometimes: ${goal}`, totals.coverage[goal]]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `${name.padEnd(width)}  ${String(value).padStart(12)}`);
  const failures = totals.failures.map((result) => `${replayCommand(result.run)}\n    ${result.violation}`);
  return [...table, ...failures].join('\n');
}
