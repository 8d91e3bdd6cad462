import type { Sometimes } from './checks/sometimes.js';
import type { RunOptions, Topology } from './scenario/scenario.js';
import { setTraps } from './world/traps.js';
import { ViolationError, type World } from './world/world.js';

/** Once nothing goes wrong any more, everything has settled by then. */
export const SETTLING_MS_MAX = 3600_000;

export interface SeedResult {
  /** What was asked for: the same again gives the same again. */
  readonly run: Omit<RunOptions, 'onTrace'>;
  readonly topology: Topology;
  readonly commands: number;
  readonly steps: number;
  readonly simulated_ms: number;
  /** Equal for two runs of the same options, to the last event. */
  readonly fingerprint: string;
  readonly violation: string | null;
  readonly sometimes: Partial<Record<Sometimes, number>>;
}

/** Lets a play go on to its end or to its first violation, which it returns. Nobody in it has the machine's clock. */
export async function playOut(world: World, perform: () => Promise<void>): Promise<string | null> {
  const onRejection = (reason: unknown): void => {
    world.violate('THROWN', `a promise failed and nobody heard: ${saysOf(reason)}`);
  };
  process.on('unhandledRejection', onRejection);
  const restore = setTraps();
  try {
    await perform();
    return null;
  } catch (error) {
    if (!(error instanceof ViolationError)) throw error;
    return error.message;
  } finally {
    restore();
    process.off('unhandledRejection', onRejection);
  }
}

/** What is awaited inside the world needs the world to go on. */
export async function within<T>(world: World, work: Promise<T>): Promise<T> {
  let done: { readonly value: T } | { readonly failure: unknown } | null = null;
  work.then(
    (value) => {
      done = { value };
    },
    (failure) => {
      done = { failure };
    },
  );
  await world.run(world.now_ms + SETTLING_MS_MAX, () => done !== null);
  const ended = done as { readonly value: T } | { readonly failure: unknown } | null;
  if (ended === null) world.violate('LIVE', 'the final checks never ended');
  else if ('failure' in ended) world.violate('THROWN', saysOf(ended.failure));
  // Tells of whatever was found by then.
  await world.run(world.now_ms, () => true);
  return (ended as { readonly value: T }).value;
}

const saysOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
