import { join } from 'node:path';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { eventOf, swapOf, transactionOf } from '../conformance/fixture.js';
import type { CommitOutcome, ProjectKey, Store, Transaction } from '../store.js';
import type { Disk } from './disk.js';
import { nodeDisk } from './node-disk.js';

/** The project that the tests of this folder share. */
export const KEY: ProjectKey = { tenant_id: 't', project_id: 'p' };

export const projectLogFolder = (root: string): string => join(root, 't', 'p');
export const activeFile = (root: string): string => join(projectLogFolder(root), 'events.jsonl');

/** A transaction of `count` events that creates a subject. */
export const newSubjectTransaction = (
  subject: string,
  count = 1,
  parts: Partial<Transaction> = {},
): Transaction => transactionOf(KEY, { swaps: [swapOf(KEY, `~${subject}`, 0, count)], ...parts });

/** A transaction with a single loose event. */
export const looseEventTransaction = (event_id: string, payload: Record<string, unknown> = {}): Transaction =>
  transactionOf(KEY, { loose_events: [eventOf(KEY, { event_id, payload })] });

export async function commitOne(store: Store, transaction: Transaction): Promise<CommitOutcome> {
  const [outcome] = await store.commit([transaction]);
  return outcome as CommitOutcome;
}

export const allEvents = (store: Store, projectKey = KEY): Promise<EventEnvelope[]> =>
  store.events(projectKey, { after: 0, limit: 1_000_000 });

/** Faults that a test injects between the store and the real disk; operations without one pass through. */
export interface InjectedDiskFaults {
  write?: (path: string, bytes: Uint8Array, write: (bytes: Uint8Array) => Promise<number>) => Promise<number>;
  sync?: (path: string, sync: () => Promise<void>) => Promise<void>;
  truncate?: (path: string) => void;
}

/** The real disk with faults in the files that `openAppend` opens. `faults` may be changed while it is in use. */
export function faultyDisk(faults: InjectedDiskFaults): Disk {
  return {
    ...nodeDisk,
    openAppend: async (path, mode) => {
      const file = await nodeDisk.openAppend(path, mode);
      const write = (bytes: Uint8Array) => file.write(bytes);
      return {
        write: (bytes) => (faults.write === undefined ? write(bytes) : faults.write(path, bytes, write)),
        sync: () => (faults.sync === undefined ? file.sync() : faults.sync(path, () => file.sync())),
        truncate: async (size) => {
          faults.truncate?.(path);
          await file.truncate(size);
        },
        read: (into, position) => file.read(into, position),
        size: () => file.size(),
        close: () => file.close(),
      };
    },
  };
}

export function diskError(code: string): Error {
  return Object.assign(new Error(`${code}: injected disk fault`), { code, syscall: 'test' });
}

/** Reproducible numbers in [0, 1). */
export function reproducibleRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
