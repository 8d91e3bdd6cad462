import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { StoreBroken, StoreUnavailable } from '../../store.js';
import { type FileStore, type FileStoreOptions, openFileStore } from '../file-store.js';
import { diskError } from '../testing.js';
import { commitTo, commitToAll, formatOf, idsIn, logFile, sizeOf, WatchedDisk, walFile } from './testing.js';

const PROJECTS = Array.from({ length: 8 }, (_, at) => `p${at}`);

/** A store whose projects have a first event, so that their files have durable names. By default, every batch is grouped. */
async function openStore(parts: Partial<FileStoreOptions> = {}) {
  const root = await temporaryFolder();
  const watched = new WatchedDisk();
  const store = await openFileStore({ root, disk: watched.disk, own_syncs_max: 0, ...parts });
  await commitToAll(store, PROJECTS, 'first');
  watched.syncs.length = 0;
  return { root, watched, store };
}

const isWal = (path: string): boolean => path.endsWith('_wal.jsonl');
const isLogOf = (project: string) => (path: string) => path.endsWith(`/${project}/events.jsonl`);

async function expectIdsAfterReopening(
  root: string,
  ids: readonly string[],
  projects = PROJECTS,
): Promise<void> {
  const store = await openFileStore({ root });
  for (const project of projects) expect(await idsIn(store, project)).toEqual(ids);
  await store.close();
}

async function rejections(commits: readonly Promise<unknown>[]): Promise<unknown[]> {
  return (await Promise.allSettled(commits)).map((settled) =>
    settled.status === 'rejected' ? settled.reason : null,
  );
}

it('a group commit makes the batches of many projects durable with few syncs of the write-ahead log, and none of their own files', async () => {
  const { root, watched, store } = await openStore();
  await commitToAll(store, PROJECTS, 'second');
  expect(new Set(watched.syncs)).toEqual(new Set(['_wal.jsonl']));
  expect(watched.syncs.length).toBeLessThan(PROJECTS.length / 2);
  await expectIdsAfterReopening(await watched.afterPowerLoss(root), ['first', 'second']);
  await store.close();
});

it('a store with few projects syncs their files, and has no write-ahead log', async () => {
  const { root, watched, store } = await openStore({ own_syncs_max: 3 });
  await store.close();
  const reopened = await openFileStore({ root, disk: watched.disk, own_syncs_max: 3 });
  await commitToAll(reopened, PROJECTS.slice(0, 3), 'second');
  expect(await sizeOf(walFile(root))).toBeNull();
  await expectIdsAfterReopening(
    await watched.afterPowerLoss(root),
    ['first', 'second'],
    PROJECTS.slice(0, 3),
  );
  await reopened.close();
});

it('a store reports no commit before the write-ahead log is durable, but other programs see it', async () => {
  const { root, watched, store } = await openStore();
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let onReached = () => {};
  const reached = new Promise<void>((resolve) => {
    onReached = resolve;
  });
  watched.faults.sync = async (path, sync) => {
    if (isWal(path)) onReached();
    await gate;
    await sync();
  };
  const replies: string[] = [];
  const commits = PROJECTS.map((project) =>
    commitTo(store, project, 'second').then(() => replies.push(project)),
  );
  await reached;
  await store.now();
  // Reading a file takes longer than a reply that does not wait.
  expect(await readFile(logFile(root, 'p0'), 'utf8')).toContain('"second"');
  expect(replies).toEqual([]);
  release();
  await Promise.all(commits);
  expect(replies).toHaveLength(PROJECTS.length);
  await store.close();
});

it('a group commit fails only the project whose own file cannot be written', async () => {
  const { root, watched, store } = await openStore();
  watched.faults.write = (path, bytes, write) =>
    isLogOf('p3')(path) ? Promise.reject(diskError('EIO')) : write(bytes);
  const failed = await rejections(PROJECTS.map((project) => commitTo(store, project, 'second')));
  expect(failed.map((error) => error !== null)).toEqual(PROJECTS.map((project) => project === 'p3'));
  expect(failed[3]).toBeInstanceOf(StoreUnavailable);
  delete watched.faults.write;
  await commitTo(store, 'p3', 'second');
  await expectIdsAfterReopening(await watched.afterPowerLoss(root), ['first', 'second']);
  await store.close();
});

it('a group whose frame cannot be written is taken back, and never replayed', async () => {
  const { root, watched, store } = await openStore();
  watched.faults.write = async (path, bytes, write) => {
    if (!isWal(path)) return write(bytes);
    // The frame is written completely, so only cutting it off prevents that it is replayed.
    await write(bytes);
    throw diskError('EIO');
  };
  const failed = await rejections(PROJECTS.map((project) => commitTo(store, project, 'lost')));
  for (const error of failed) expect(error).toBeInstanceOf(StoreUnavailable);
  delete watched.faults.write;
  for (const project of PROJECTS) expect(await idsIn(store, project)).toEqual(['first']);
  await expectIdsAfterReopening(await watched.afterPowerLoss(root), ['first']);
  await commitToAll(store, PROJECTS, 'second');
  await expectIdsAfterReopening(await watched.afterPowerLoss(root), ['first', 'second']);
  await store.close();
});

it('a store is broken if the sync of the write-ahead log fails, and acknowledges no commit of the group', async () => {
  const { root, watched, store } = await openStore();
  watched.faults.sync = (path, sync) => (isWal(path) ? Promise.reject(diskError('EIO')) : sync());
  const failed = await rejections(PROJECTS.map((project) => commitTo(store, project, 'unknown')));
  for (const error of failed) expect(error).toBeInstanceOf(StoreBroken);
  delete watched.faults.sync;
  await store.close();
  const reopened = await openFileStore({ root });
  for (const project of PROJECTS) expect((await idsIn(reopened, project))[0]).toBe('first');
  await reopened.close();
});

it('a store is broken if a failed frame cannot be cut off', async () => {
  const { watched, store } = await openStore();
  watched.faults.write = (path, bytes, write) =>
    isWal(path) ? Promise.reject(diskError('EIO')) : write(bytes);
  watched.faults.truncate = (path) => {
    if (isWal(path)) throw diskError('EIO');
  };
  const failed = await rejections(PROJECTS.map((project) => commitTo(store, project, 'lost')));
  for (const error of failed) expect(error).toBeInstanceOf(StoreBroken);
  await store.close();
});

it('a store syncs the files and empties the write-ahead log when it is full', async () => {
  const { root, watched, store } = await openStore({ wal_bytes_max: 4000 });
  for (let round = 0; round < 5; round += 1) await commitToAll(store, PROJECTS, `event ${round}`);
  expect(watched.syncs).toContain('events.jsonl');
  await expect.poll(() => sizeOf(walFile(root))).toBeLessThan(8000);
  const ids = ['first', ...Array.from({ length: 5 }, (_, round) => `event ${round}`)];
  await expectIdsAfterReopening(await watched.afterPowerLoss(root), ids);
  await store.close();
});

it('a store is broken if a file cannot be synced when the write-ahead log is full, and keeps the write-ahead log', async () => {
  const { root, watched, store } = await openStore({ wal_bytes_max: 4000 });
  watched.faults.sync = (path, sync) => (isLogOf('p5')(path) ? Promise.reject(diskError('EIO')) : sync());
  const ids = ['first'];
  await expect(
    (async () => {
      for (let round = 0; round < 50; round += 1) {
        await commitToAll(store, PROJECTS, `event ${round}`);
        ids.push(`event ${round}`);
      }
    })(),
  ).rejects.toBeInstanceOf(StoreBroken);
  delete watched.faults.sync;
  await store.close();
  const reopened = await openFileStore({ root: await watched.afterPowerLoss(root) });
  for (const project of PROJECTS) expect((await idsIn(reopened, project)).slice(0, ids.length)).toEqual(ids);
  await reopened.close();
});

it('a store removes the write-ahead log on close; until then older programs refuse the folder', async () => {
  const { root, watched, store } = await openStore();
  await commitToAll(store, PROJECTS, 'second');
  expect(await formatOf(root)).toBe(3);
  expect(await sizeOf(walFile(root))).toBeGreaterThan(0);
  expect(await store.tenantIds()).toEqual(['t']);
  await store.close();
  expect(await formatOf(root)).toBe(2);
  expect(await sizeOf(walFile(root))).toBeNull();
  await expectIdsAfterReopening(await watched.afterPowerLoss(root), ['first', 'second']);
});

it('a store keeps the write-ahead log on close if a file cannot be synced', async () => {
  const { root, watched, store } = await openStore();
  await commitToAll(store, PROJECTS, 'second');
  watched.faults.sync = (path, sync) => (isLogOf('p5')(path) ? Promise.reject(diskError('EIO')) : sync());
  await store.close();
  expect(await formatOf(root)).toBe(3);
  await expectIdsAfterReopening(await watched.afterPowerLoss(root), ['first', 'second']);
});

it('a workspace never has a write-ahead log, because other programs read and replace its log', async () => {
  const root = await temporaryFolder();
  const home = { tenant_id: 't', project_id: 'home' };
  const store: FileStore = await openFileStore({ root, home, own_syncs_max: 0 });
  await commitToAll(store, ['home', ...PROJECTS], 'first');
  expect(await sizeOf(walFile(root))).toBeNull();
  expect(await formatOf(root)).toBe(2);
  await store.close();
});
