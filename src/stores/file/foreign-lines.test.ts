import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TenantPermits } from '../permits.js';
import { StoreBroken, StoreUnavailable } from '../store.js';
import { openFileStore } from './file-store.js';
import { coverOf } from './foreign-lines.js';
import { memoryDisk } from './memory-disk.testing.js';
import { nodeDisk } from './node-disk.js';
import { OpenFiles } from './open-files.js';
import { recoverLog } from './recovery.js';
import {
  activeFile,
  allEvents,
  commitOne,
  diskError,
  faultyDisk,
  type InjectedDiskFaults,
  KEY,
  logFolder,
  looseEventTransaction,
  temporaryFolder,
} from './testing.js';
import { readLogUnverified } from './unverified-reader.js';

const foreignLine = (said: string): string =>
  JSON.stringify({ event_type: 'edge_started', project: 'p', data: { said, payload: 1 } });

const parsedLines = async (path: string) =>
  (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const sealsIn = async (path: string) => (await parsedLines(path)).filter(({ seal }) => seal !== undefined);

const idsOf = async (store: Awaited<ReturnType<typeof openFileStore>>) =>
  (await allEvents(store)).map(({ event_id }) => event_id);

/** Opens the store again, which checks every line, and returns the ids of its events. */
async function reopenedIds(root: string): Promise<string[]> {
  const store = await openFileStore({ root });
  const ids = await idsOf(store);
  await store.close();
  return ids;
}

it('foreign lines are kept between blocks, covered by the next seal, and are no events', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  await appendFile(activeFile(root), `${foreignLine('ü')}\n${foreignLine('two')}\n`);
  await commitOne(store, looseEventTransaction('b'));
  await commitOne(store, looseEventTransaction('c'));
  expect(await idsOf(store)).toEqual(['a', 'b', 'c']);
  await store.close();
  const cover = coverOf([Buffer.from(foreignLine('ü')), Buffer.from(foreignLine('two'))]);
  expect((await sealsIn(activeFile(root))).map(({ foreign }) => foreign)).toEqual([
    undefined,
    cover,
    undefined,
  ]);
  expect(await reopenedIds(root)).toEqual(['a', 'b', 'c']);
  const shown: string[] = [];
  const isRead = await readLogUnverified(nodeDisk, logFolder(root), ({ event_id }) => shown.push(event_id));
  expect([isRead, shown]).toEqual([true, ['a', 'b', 'c']]);
});

it('foreign lines count as damage if they were changed or removed after a seal has covered them', async () => {
  const root = await temporaryFolder();
  let store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  await appendFile(activeFile(root), `${foreignLine('one')}\n${foreignLine('two')}\n`);
  await commitOne(store, looseEventTransaction('b'));
  await store.close();
  const text = await readFile(activeFile(root), 'utf8');
  for (const changed of [text.replace('"one"', '"eno"'), text.replace(`${foreignLine('two')}\n`, '')]) {
    await writeFile(activeFile(root), changed);
    store = await openFileStore({ root });
    await expect(allEvents(store)).rejects.toThrow(
      /lines of other programs that its seal covers were changed/,
    );
    await store.close();
  }
});

it('at the end of a log are covered by the first seal after a restart', async () => {
  const root = await temporaryFolder();
  let store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  await store.close();
  await appendFile(activeFile(root), `${foreignLine('one')}\n`);
  store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('b'));
  await store.close();
  expect((await sealsIn(activeFile(root))).at(-1)).toMatchObject({ foreign: { lines: 1 } });
  expect(await reopenedIds(root)).toEqual(['a', 'b']);
});

it('may arrive between the check and the write: offsets are right, and the next seal covers them', async () => {
  const root = await temporaryFolder();
  const faults: InjectedDiskFaults = {};
  const store = await openFileStore({ root, disk: faultyDisk(faults) });
  await commitOne(store, looseEventTransaction('a'));
  faults.write = async (path, bytes, write) => {
    await appendFile(path, `${foreignLine('between')}\n`);
    const count = await write(bytes);
    await appendFile(path, `${foreignLine('after')}\n`);
    return count;
  };
  await commitOne(store, looseEventTransaction('b'));
  delete faults.write;
  expect(await idsOf(store)).toEqual(['a', 'b']);
  await commitOne(store, looseEventTransaction('c'));
  expect(await idsOf(store)).toEqual(['a', 'b', 'c']);
  await store.close();
  expect((await sealsIn(activeFile(root))).map(({ foreign }) => foreign?.lines)).toEqual([
    undefined,
    undefined,
    2,
  ]);
  expect(await reopenedIds(root)).toEqual(['a', 'b', 'c']);
});

it('stay in a segment that is sealed, and are covered by a seal of the next', async () => {
  const root = await temporaryFolder();
  const faults: InjectedDiskFaults = {};
  const options = { root, segment_bytes_max: 1, disk: faultyDisk(faults) };
  let store = await openFileStore(options);
  faults.sync = async (path, sync) => {
    if (path.endsWith('events.jsonl')) await appendFile(path, `${foreignLine('late')}\n`);
    delete faults.sync;
    await sync();
  };
  await commitOne(store, looseEventTransaction('a'));
  await commitOne(store, looseEventTransaction('b'));
  await commitOne(store, looseEventTransaction('c'));
  expect(await idsOf(store)).toEqual(['a', 'b', 'c']);
  await store.close();
  const segment = (name: string) => join(logFolder(root), 'segments', name);
  expect((await parsedLines(segment('000000000001.jsonl'))).at(-1)).toMatchObject({ data: { said: 'late' } });
  expect(await sealsIn(segment('000000000002.jsonl'))).toMatchObject([{ foreign: { lines: 1 } }]);
  store = await openFileStore(options);
  expect(await idsOf(store)).toEqual(['a', 'b', 'c']);
  await store.close();
});

it.each(['{"event_id":"x","log":{}}', '{"seal":"x"}', 'no JSON', '[1]'])(
  'are not lines like %s: another process writes to this log',
  async (line) => {
    const root = await temporaryFolder();
    const store = await openFileStore({ root });
    await commitOne(store, looseEventTransaction('a'));
    await appendFile(activeFile(root), `${foreignLine('one')}\n${line}\n`);
    const commit = commitOne(store, looseEventTransaction('b'));
    await expect(commit).rejects.toThrow(StoreBroken);
    await expect(commit).rejects.toThrow(/another process writes to this log/);
    await store.close();
  },
);

it('are waited for while they are being written', async () => {
  const root = await temporaryFolder();
  let pauses = 0;
  const disk = {
    ...nodeDisk,
    pause: async () => {
      pauses += 1;
      if (pauses === 3) await appendFile(activeFile(root), 'type":"slow"}\n');
    },
  };
  const store = await openFileStore({ root, disk });
  await commitOne(store, looseEventTransaction('a'));
  await appendFile(activeFile(root), '{"event_');
  await commitOne(store, looseEventTransaction('b'));
  await store.close();
  expect((await sealsIn(activeFile(root))).at(-1)).toMatchObject({ foreign: { lines: 1 } });
  expect(await reopenedIds(root)).toEqual(['a', 'b']);
});

it('that are never finished stop commits, and nothing is written or lost', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root, disk: { ...nodeDisk, pause: async () => {} } });
  await commitOne(store, looseEventTransaction('a'));
  await appendFile(activeFile(root), '{"event_');
  const before = await readFile(activeFile(root), 'utf8');
  await expect(commitOne(store, looseEventTransaction('b'))).rejects.toThrow(StoreUnavailable);
  expect(await readFile(activeFile(root), 'utf8')).toBe(before);
  await appendFile(activeFile(root), 'type":"late"}\n');
  await commitOne(store, looseEventTransaction('c'));
  expect(await idsOf(store)).toEqual(['a', 'c']);
  await store.close();
  expect(await reopenedIds(root)).toEqual(['a', 'c']);
});

it('survive a write of ours that fails at the same time', async () => {
  const root = await temporaryFolder();
  const faults: InjectedDiskFaults = {};
  const store = await openFileStore({ root, disk: faultyDisk(faults) });
  await commitOne(store, looseEventTransaction('a'));
  faults.write = async (path, bytes, write) => {
    delete faults.write;
    await appendFile(path, `${foreignLine('before')}\n`);
    await write(bytes);
    await appendFile(path, `${foreignLine('after')}\n`);
    throw diskError('EIO');
  };
  await expect(commitOne(store, looseEventTransaction('b'))).rejects.toThrow(StoreUnavailable);
  await commitOne(store, looseEventTransaction('c'));
  await store.close();
  expect((await sealsIn(activeFile(root))).at(-1)).toMatchObject({ foreign: { lines: 2 } });
  expect(await reopenedIds(root)).toEqual(['a', 'c']);
});

it('after torn lines of ours are kept, and the torn lines are cut', async () => {
  const root = await temporaryFolder();
  let store = await openFileStore({ root });
  for (const id of ['a', 'b']) await commitOne(store, looseEventTransaction(id));
  await store.close();
  const [first = '', seal = '', torn = ''] = (await readFile(activeFile(root), 'utf8')).split('\n');
  const files = new Map([
    [
      'p/events.jsonl',
      Buffer.from(`${[first, seal, torn, foreignLine('one'), foreignLine('two')].join('\n')}\n`),
    ],
  ]);
  const log = await recoverLog({
    disk: memoryDisk(files),
    root: '',
    folder: 'p',
    key: KEY,
    permits: new TenantPermits(),
    open_files: new OpenFiles(),
    now_ms: 0,
    warn: () => {},
  });
  const left = [first, seal, foreignLine('one'), foreignLine('two')];
  expect(files.get('p/events.jsonl')?.toString()).toBe(`${left.join('\n')}\n`);
  expect(files.get('p/torn-1-1.bin')?.toString()).toContain(torn);
  expect(log.state.foreign.map(String)).toEqual([foreignLine('one'), foreignLine('two')]);
  expect(log.files.last.bytes).toBe(files.get('p/events.jsonl')?.length);
  await writeFile(activeFile(root), files.get('p/events.jsonl') as Buffer);
  await writeFile(join(logFolder(root), 'durable'), '');
  store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('c'));
  await store.close();
  expect(await reopenedIds(root)).toEqual(['a', 'c']);
});

it('do not shift what a reader verifies: a changed byte of the block is damage', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  await appendFile(activeFile(root), `${foreignLine('one')}\n`);
  await commitOne(store, looseEventTransaction('b', { said: 'x' }));
  const bytes = await readFile(activeFile(root));
  const block = bytes.indexOf('"event_id":"b"');
  for (let at = block; at < bytes.length - 1; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] as number) ^ 1;
    await writeFile(activeFile(root), changed);
    await expect(store.events(KEY, { after: 1, limit: 1 }), `byte ${at}`).rejects.toThrow(
      'events.jsonl, line',
    );
  }
  await writeFile(activeFile(root), bytes);
  expect(await idsOf(store)).toEqual(['a', 'b']);
  await store.close();
});
