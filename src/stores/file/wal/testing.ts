import { cp, mkdtemp, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { eventOf, transactionOf } from '../../conformance/fixture.js';
import type { CommitOutcome, ProjectKey, Store } from '../../store.js';
import type { Disk } from '../disk.js';
import { nodeDisk } from '../node-disk.js';
import { commitOne, faultyDisk, type InjectedDiskFaults } from '../testing.js';

const TENANT = 't';
export const keyOf = (project_id: string): ProjectKey => ({ tenant_id: TENANT, project_id });
export const walFile = (root: string): string => join(root, '_wal.jsonl');
export const logFile = (root: string, project: string): string => join(root, TENANT, project, 'events.jsonl');

/** Commits one loose event. */
export const commitTo = (
  store: Store,
  project: string,
  event_id: string,
  payload: Record<string, unknown> = {},
): Promise<CommitOutcome> => {
  const key = keyOf(project);
  return commitOne(store, transactionOf(key, { loose_events: [eventOf(key, { event_id, payload })] }));
};

/** Commits the same event in several projects at the same time. */
export const commitToAll = (
  store: Store,
  projects: readonly string[],
  id: string,
): Promise<CommitOutcome[]> => Promise.all(projects.map((project) => commitTo(store, project, id)));

export const idsIn = async (store: Store, project: string): Promise<string[]> =>
  (await store.events(keyOf(project), { after: 0, limit: 1000 })).map(({ event_id }) => event_id);

const FILES = /\/(events\.jsonl|segments\/\d+\.jsonl)$/;

/** The real disk, which remembers what was synced. `faults` may be changed while it is in use. */
export class WatchedDisk {
  readonly faults: InjectedDiskFaults = {};
  readonly syncs: string[] = [];
  /** The synced length of each file. */
  private readonly synced = new Map<string, number>();
  readonly disk: Disk = {
    ...faultyDisk({
      write: (path, bytes, write) => this.faults.write?.(path, bytes, write) ?? write(bytes),
      sync: async (path, sync) => {
        await (this.faults.sync?.(path, sync) ?? sync());
        this.syncs.push(path.split('/').at(-1) as string);
        this.synced.set(path, (await stat(path)).size);
      },
      truncate: (path) => this.faults.truncate?.(path),
    }),
    rename: async (from, to) => {
      await nodeDisk.rename(from, to);
      this.synced.set(to, this.synced.get(from) ?? 0);
      this.synced.delete(from);
    },
  };

  /** What a power loss leaves at worst: a copy of the folder, in which each file ends where it was last synced. */
  async afterPowerLoss(root: string): Promise<string> {
    const copy = await copyOfStoreFolder(root);
    for (const path of await readdir(copy, { recursive: true })) {
      if (!FILES.test(`/${path}`)) continue;
      const size = this.synced.get(join(root, path)) ?? 0;
      if (size < ((await sizeOf(join(copy, path))) ?? 0)) await truncate(join(copy, path), size);
    }
    return copy;
  }
}

/** A copy of a store's folder as a killed process leaves it: the system keeps what was written, synced or not. */
export async function copyOfStoreFolder(root: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'file-store-'));
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  // Snapshots and temporary files are written and removed in the background, and are not needed.
  const filter = (path: string): boolean => !path.includes('/snapshots') && !path.endsWith('.tmp');
  await cp(root, copy, { recursive: true, filter });
  return copy;
}

export const sizeOf = async (path: string): Promise<number | null> =>
  (await stat(path).catch(() => null))?.size ?? null;

export const formatOf = async (root: string): Promise<number> =>
  (JSON.parse(await readFile(join(root, 'store.json'), 'utf8')) as { format: number }).format;
