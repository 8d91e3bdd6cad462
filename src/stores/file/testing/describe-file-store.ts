import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ProcessClock } from '../../clock.js';
import { describeStoreConformance } from '../../conformance.js';
import { type FileStoreOptions, openFileStore } from '../file-store.js';

/** A manual clock, which a store and the stores reopened after it share. */
function manualClock(): ProcessClock & { advance(byMs: number): void } {
  let nowMs = Date.UTC(2026, 0, 1);
  return {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    advance: (byMs) => {
      nowMs += byMs;
    },
  };
}

/** Runs the suite on a file store in a new folder, with a clock that only the suite moves. */
export function describeFileStore(
  name: string,
  optionsFor: (tenantId: string) => Partial<FileStoreOptions>,
): void {
  describeStoreConformance(name, {
    hasControlledClock: true,
    open: async (tenantId) => {
      const root = await mkdtemp(join(tmpdir(), 'file-store-'));
      onTestFinished(() => rm(root, { recursive: true, force: true }));
      const clock = manualClock();
      const options = { root, clock, ...optionsFor(tenantId) };
      let store = await openFileStore(options);
      return {
        store,
        clock,
        reopen: async () => {
          await store.close();
          store = await openFileStore(options);
          return store;
        },
      };
    },
  });
}
