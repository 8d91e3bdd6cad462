import type { CoverageGoal } from './checks/coverage.js';
import type { SeedRunOptions, SimTopology } from './scenario/scenario.js';
import { installGuards } from './world/determinism-guards.js';
import { type SimWorld, ViolationError } from './world/world.js';

/** Time within which everything has settled after the faults stop. */
export const SETTLING_MS_MAX = 3600_000;

export interface SeedResult {
  /** The options of the run; the same options give the same result. */
  readonly run: Omit<SeedRunOptions, 'onTrace'>;
  readonly topology: SimTopology;
  readonly commands: number;
  readonly steps: number;
  readonly simulated_ms: number;
  /** Equal for two runs with the same options, down to the last event. */
  readonly fingerprint: string;
  readonly violation: string | null;
  readonly coverage: Partial<Record<CoverageGoal, number>>;
}

/** Runs to the end, or to the first violation, and returns the violation. Meanwhile the real clock is not available. */
export async function runToFirstViolation(world: SimWorld, run: () => Promise<void>): Promise<string | null> {
  const onRejection = (reason: unknown): void => {
    world.reportViolation('THROWN', `unhandled rejection: ${errorText(reason)}`);
  };
  process.on('unhandledRejection', onRejection);
  const restore = installGuards();
  try {
    await run();
    return null;
  } catch (error) {
    if (!(error instanceof ViolationError)) throw error;
    return error.message;
  } finally {
    restore();
    process.off('unhandledRejection', onRejection);
  }
}

/** Advances the world until a promise that depends on it settles. */
export async function awaitInWorld<T>(world: SimWorld, promise: Promise<T>): Promise<T> {
  let done: { readonly value: T } | { readonly failure: unknown } | null = null;
  promise.then(
    (value) => {
      done = { value };
    },
    (failure) => {
      done = { failure };
    },
  );
  await world.run(world.now_ms + SETTLING_MS_MAX, () => done !== null);
  const settled = done as { readonly value: T } | { readonly failure: unknown } | null;
  if (settled === null) world.reportViolation('LIVE', 'the final checks did not end');
  else if ('failure' in settled) world.reportViolation('THROWN', errorText(settled.failure));
  // Throws any violation recorded by then.
  await world.run(world.now_ms, () => true);
  return (settled as { readonly value: T }).value;
}

const errorText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
