import { describe, expect, it } from 'vitest';
import { factOf } from '../../src/core/claims/facts.js';
import type { MissingEngine, TestEngine } from '../../src/stores/testing/engine.js';
import { isSound, report } from './report.js';
import { type RunOptions, runHistory } from './run.js';

const SHORT = { seconds: 5, clients: 10, coordinators: 2, seed: 'short' } as const;

/**
 * A short run on a real store, with a coordinator killed and the engine restarted in the middle of it; again through a
 * proxy on both sides where the store is reached over the network. `startStore` gives an engine whose schema is in place.
 */
export function describeHistory(name: string, startStore: () => Promise<TestEngine | MissingEngine>): void {
  describe(`the history of ${name}`, { timeout: 180_000 }, () => {
    it.for([false, true])('holds up to the rules (proxies: %s)', async (proxies, { skip }) => {
      const engine = await startStore();
      if ('missing' in engine) return skip(`was not run: ${engine.missing}`);
      try {
        await play(engine, proxies);
      } finally {
        await engine.stop();
      }
    });
  });
}

async function play(engine: TestEngine, proxies: boolean): Promise<void> {
  const sides = engine.url.startsWith('file:') ? 'agents' : 'both';
  const options: RunOptions = {
    ...SHORT,
    store: engine.url,
    proxy: proxies ? sides : 'none',
    ...(engine.restart === undefined ? {} : { restartEngine: () => engine.restart?.() as Promise<void> }),
  };
  const result = await runHistory(options);
  expect(isSound(result), report(options, result)).toBe(true);
  expect(result.faults).toHaveLength(engine.restart === undefined ? 1 : 2);
  // A run in which nothing happened would show nothing.
  expect(result.events.filter(({ event_type }) => factOf(event_type) === 'granted')).not.toHaveLength(0);
  expect(result.calls.filter(({ answer }) => answer.kind === 'refused')).not.toHaveLength(0);
}
