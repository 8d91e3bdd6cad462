import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ProcessClock } from '../clock.js';
import { PROJECT } from '../conformance/fixture.js';
import { describeStoreConformance } from '../conformance.js';
import { type FileStoreOptions, openFileStore } from './file-store.js';

/** A manual clock, shared by two consecutive stores. */
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
 * The second kind seals its log after every batch, so that reads use segments and snapshots wherever possible. The
 * third has one project in the root itself, as a workspace does.
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
