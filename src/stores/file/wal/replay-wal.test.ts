import { appendFile, copyFile, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { REDACTION_EVENT } from '../../../core/events/known-event-types.js';
import { HISTORY_SUBJECT } from '../../../core/subject.js';
import { eventOf, transactionOf } from '../../conformance/fixture.js';
import { StoreRefused } from '../../store.js';
import { type FileStoreOptions, openFileStore } from '../file-store.js';
import { digestRemaining } from '../redacted-lines.js';
import { commitOne } from '../testing.js';
import {
  commitTo,
  commitToAll,
  copyOfStoreFolder,
  idsIn,
  keyOf,
  logFile,
  sizeOf,
  WatchedDisk,
  walFile,
} from './testing.js';

const PROJECTS = ['a', 'b', 'c'];

async function openStore(parts: Partial<FileStoreOptions> = {}) {
  const root = await temporaryFolder();
  const watched = new WatchedDisk();
  const store = await openFileStore({ root, disk: watched.disk, own_syncs_max: 0, ...parts });
  return { root, watched, store };
}

async function idsAfterOpening(root: string): Promise<string[][]> {
  const store = await openFileStore({ root });
  const ids = [];
  for (const project of PROJECTS) ids.push(await idsIn(store, project));
  await store.close();
  return ids;
}

const inEveryProject = (ids: readonly string[]): string[][] => PROJECTS.map(() => [...ids]);

/** A folder after a power loss, in which three events per project are only in the write-ahead log. */
async function crashedStore(): Promise<string> {
  const { root, watched, store } = await openStore();
  for (const id of ['1', '2', '3']) await commitToAll(store, PROJECTS, id);
  const copy = await watched.afterPowerLoss(root);
  await store.close();
  return copy;
}

it('restores what the files lost, whatever they have in its place', async () => {
  const root = await crashedStore();
  expect(await sizeOf(logFile(root, 'a'))).toBe(0);
  await writeFile(logFile(root, 'b'), Buffer.alloc(5000));
  await rm(logFile(root, 'c'));
  expect(await idsAfterOpening(root)).toEqual(inEveryProject(['1', '2', '3']));
  expect(await sizeOf(walFile(root))).toBeNull();
});

it('a replay can be repeated', async () => {
  const root = await crashedStore();
  await copyFile(walFile(root), join(root, 'kept'));
  await idsAfterOpening(root);
  await copyFile(join(root, 'kept'), walFile(root));
  expect(await idsAfterOpening(root)).toEqual(inEveryProject(['1', '2', '3']));
});

it('ignores a frame that was being written, cut at any byte', async () => {
  const root = await crashedStore();
  const wal = await readFile(walFile(root));
  const last = wal.lastIndexOf('{"frame":"');
  for (let size = last; size < wal.length; size += 97) {
    const copy = await copyOfStoreFolder(root);
    await truncate(walFile(copy), size);
    const ids = await idsAfterOpening(copy);
    for (const projectIds of ids) expect(['1', '2', '3'].slice(0, projectIds.length)).toEqual(projectIds);
    expect(ids.flat().length).toBeLessThan(9);
    expect(ids.flat().length).toBeGreaterThan(0);
  }
});

it('refuses a frame that was changed, and changes nothing', async () => {
  const root = await crashedStore();
  const wal = await readFile(walFile(root));
  const last = wal.lastIndexOf('{"frame":"');
  for (const at of [5, 60, 200, Math.floor(last / 2), last - 2]) {
    const damaged = Buffer.from(wal);
    damaged[at] = (damaged[at] as number) ^ 1;
    await writeFile(walFile(root), damaged);
    await expect(openFileStore({ root })).rejects.toThrow(StoreRefused);
    await expect(openFileStore({ root })).rejects.toThrow(/_wal\.jsonl, line \d+: .*Restore the folder/);
    expect(await readFile(walFile(root))).toEqual(damaged);
    expect(await sizeOf(logFile(root, 'a'))).toBe(0);
  }
  await writeFile(walFile(root), wal);
  expect(await idsAfterOpening(root)).toEqual(inEveryProject(['1', '2', '3']));
});

it('refuses a write-ahead log with a removed frame', async () => {
  const root = await crashedStore();
  const wal = await readFile(walFile(root));
  await writeFile(walFile(root), wal.subarray(wal.indexOf('{"frame":"', 1)));
  await expect(openFileStore({ root })).rejects.toThrow(/line 1: the frame does not continue/);
});

it('refuses a file that ends before the frame that continues it', async () => {
  const { root, store } = await openStore({ wal_bytes_max: 1 });
  await commitToAll(store, PROJECTS, '1');
  await store.close();
  const reopened = await openFileStore({ root, own_syncs_max: 0 });
  await commitToAll(reopened, PROJECTS, '2');
  const copy = await copyOfStoreFolder(root);
  await reopened.close();
  await truncate(logFile(copy, 'b'), 10);
  await expect(openFileStore({ root: copy })).rejects.toThrow(/b\/events\.jsonl has 10 bytes, and _wal/);
  expect(await sizeOf(logFile(copy, 'b'))).toBe(10);
});

it('keeps the lines of other programs, which the seals cover', async () => {
  const { root, watched, store } = await openStore();
  await commitToAll(store, PROJECTS, '1');
  await appendFile(logFile(root, 'a'), '{"theirs":"before"}\n');
  watched.faults.write = async (path, bytes, write) => {
    // After the file was checked for foreign lines, and before the batch is written.
    if (path === logFile(root, 'a')) await appendFile(path, '{"theirs":"between"}\n');
    return write(bytes);
  };
  await commitToAll(store, PROJECTS, '2');
  delete watched.faults.write;
  await commitToAll(store, PROJECTS, '3');
  const copy = await watched.afterPowerLoss(root);
  expect(await idsAfterOpening(copy)).toEqual(inEveryProject(['1', '2', '3']));
  const log = await readFile(logFile(copy, 'a'), 'utf8');
  expect(log.indexOf('before')).toBeGreaterThan(0);
  expect(log.indexOf('between')).toBeGreaterThan(log.indexOf('before'));
  await store.close();
});

it('leaves closed segments alone: they were synced before', async () => {
  const { root, watched, store } = await openStore({ segment_bytes_max: 1500 });
  const ids = Array.from({ length: 12 }, (_, at) => `event ${at}`);
  for (const id of ids) await commitToAll(store, PROJECTS, id);
  const copy = await watched.afterPowerLoss(root);
  const segment = join(copy, 't/a/segments/000000000001.jsonl');
  const before = await readFile(segment);
  await writeFile(segment, Buffer.alloc(before.length, ' '));
  const spaces = await readFile(segment);
  await (await openFileStore({ root: copy })).close();
  expect(await readFile(segment)).toEqual(spaces);
  await store.close();
});

it('closes a segment only when it is durable by itself', async () => {
  const { root, watched, store } = await openStore({ segment_bytes_max: 1500 });
  const ids = Array.from({ length: 12 }, (_, at) => `event ${at}`);
  for (const id of ids) await commitToAll(store, PROJECTS, id);
  expect(watched.syncs.filter((name) => name === 'events.jsonl').length).toBeGreaterThan(3);
  expect(await idsAfterOpening(await watched.afterPowerLoss(root))).toEqual(inEveryProject(ids));
  await store.close();
});

it('keeps no redacted payload', async () => {
  const { root, store } = await openStore();
  await commitTo(store, 'a', 'secret', { kept: 1, said: 'not to be kept' });
  await commitToAll(store, PROJECTS, 'other');
  const key = keyOf('a');
  const [event] = await store.events(key, { after: 0, limit: 1 });
  const reduced = { ...(event as NonNullable<typeof event>), payload: { kept: 1 } };
  const events = [{ position: 1, payload_sha256: digestRemaining(reduced.payload) }];
  const redaction = { event_id: 'redaction', event_type: REDACTION_EVENT, payload: { events } };
  await commitOne(
    store,
    transactionOf(key, { loose_events: [eventOf(key, { ...redaction, subject: HISTORY_SUBJECT })] }),
  );
  expect(await readFile(walFile(root), 'utf8')).toContain('not to be kept');
  await store.redact(key, [reduced]);
  expect(await readFile(walFile(root), 'utf8')).not.toContain('not to be kept');
  expect(await idsAfterOpening(await copyOfStoreFolder(root))).toEqual([
    ['secret', 'other', 'redaction'],
    ['other'],
    ['other'],
  ]);
  await store.close();
});

it('does not restore a failed batch that was cut off, after another batch has taken its place', async () => {
  const { root, watched, store } = await openStore();
  await commitToAll(store, PROJECTS, '1');
  watched.faults.write = async (path, bytes, write) => {
    if (path !== logFile(root, 'b')) return write(bytes);
    await write(bytes.subarray(0, bytes.length - 5));
    throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'test' });
  };
  await Promise.allSettled([commitToAll(store, PROJECTS, 'failed in b')]);
  delete watched.faults.write;
  await commitTo(store, 'b', '2');
  const [, b] = await idsAfterOpening(await watched.afterPowerLoss(root));
  expect(b).toEqual(['1', '2']);
  await store.close();
});
