import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ProcessClock } from '../clock.js';
import { PROJECT } from '../conformance/fixture.js';
import { describeStoreConformance } from '../conformance.js';
import { type FileStoreOptions, openFileStore } from './file-store.js';

/** A clock that stands still until it is moved, for two stores in a row. */
function handClock(): ProcessClock & { advance(byMs: number): void } {
  let nowMs = Date.UTC(2026, 0, 1);
  return {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    advance: (byMs) => {
      nowMs += byMs;
    },
  };
}

/**
 * The second seals its log after every batch, so that segments and snapshots answer wherever they can. The third has
 * one project in the root itself, as a workspace has.
 */
const KINDS: readonly [string, (tenantId: string) => Partial<FileStoreOptions>][] = [
  ['file', () => ({})],
  ['file (a segment for every batch)', () => ({ segment_bytes_max: 1 })],
  ['file (of a workspace)', (tenant_id) => ({ home: { tenant_id, project_id: PROJECT } })],
];

for (const [name, partsFor] of KINDS) {
  describeStoreConformance(name, {
    controlsClock: true,
    open: async (tenantId) => {
      const root = await mkdtemp(join(tmpdir(), 'file-store-'));
      onTestFinished(() => rm(root, { recursive: true, force: true }));
      const clock = handClock();
      const options = { root, clock, ...partsFor(tenantId) };
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
