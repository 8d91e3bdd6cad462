import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { eventOf } from '../conformance/fixture.js';
import { TenantPermits } from '../permits.js';
import { LogDamaged, StoreUnavailable } from '../store.js';
import { openFileStore } from './file-store.js';
import { coverOf, type ForeignLinesContext } from './foreign-lines.js';
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
  looseEventTransaction,
  projectLogFolder,
} from './testing.js';
import { readLogUnverified } from './unverified-reader.js';

const foreignLine = (said: string): string =>
  JSON.stringify({ event_type: 'edge_started', project: 'p', data: { said, payload: 1 } });

const parsedLines = async (path: string) =>
  (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const sealsIn = async (path: string) =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('{"seal":"'))
    .map((line) => JSON.parse(line));

const idsOf = async (store: Awaited<ReturnType<typeof openFileStore>>) =>
  (await allEvents(store)).map(({ event_id }) => event_id);

/** Opens the store again, which checks every line, and returns the ids of its events. */
async function idsAfterReopening(root: string): Promise<string[]> {
  const store = await openFileStore({ root });
  const ids = await idsOf(store);
  await store.close();
  return ids;
}

it('foreign lines are kept between blocks, covered by the next seal, and are not events', async () => {
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
  expect(await idsAfterReopening(root)).toEqual(['a', 'b', 'c']);
  const visitedIds: string[] = [];
  const read = await readLogUnverified(nodeDisk, projectLogFolder(root), ({ event_id }) =>
    visitedIds.push(event_id),
  );
  expect(read).not.toBeNull();
  expect(visitedIds).toEqual(['a', 'b', 'c']);
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

it('foreign lines at the end of a log are covered by the first seal after a restart', async () => {
  const root = await temporaryFolder();
  let store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  await store.close();
  await appendFile(activeFile(root), `${foreignLine('one')}\n`);
  store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('b'));
  await store.close();
  expect((await sealsIn(activeFile(root))).at(-1)).toMatchObject({ foreign: { lines: 1 } });
  expect(await idsAfterReopening(root)).toEqual(['a', 'b']);
});

it('foreign lines may arrive between the check and the write: offsets are right, and the next seal covers them', async () => {
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
  expect(await idsAfterReopening(root)).toEqual(['a', 'b', 'c']);
});

it('foreign lines stay in a segment that is closed, and are covered by a seal of the next', async () => {
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
  const segment = (name: string) => join(projectLogFolder(root), 'segments', name);
  expect((await parsedLines(segment('000000000001.jsonl'))).at(-1)).toMatchObject({ data: { said: 'late' } });
  expect(await sealsIn(segment('000000000002.jsonl'))).toMatchObject([{ foreign: { lines: 1 } }]);
  store = await openFileStore(options);
  expect(await idsOf(store)).toEqual(['a', 'b', 'c']);
  await store.close();
});

const COPIED_SEAL = `{"seal":"${'A'.repeat(43)}","lines":1,"durable":0,"at_ms":1}`;

it.each(['{"event_id":"x","log":{}}', '{"log":{}}', '{"seal":"x"}', COPIED_SEAL, 'no JSON', '[1]', ''])(
  'foreign lines may have any content: %s is kept and sealed, and is not an event',
  async (line) => {
    const root = await temporaryFolder();
    const store = await openFileStore({ root });
    await commitOne(store, looseEventTransaction('a'));
    await appendFile(activeFile(root), `${foreignLine('one')}\n${line}\n`);
    await commitOne(store, looseEventTransaction('b'));
    await commitOne(store, looseEventTransaction('c'));
    expect(await idsOf(store)).toEqual(['a', 'b', 'c']);
    await store.close();
    expect((await readFile(activeFile(root), 'utf8')).split('\n')).toContain(line);
    expect(await idsAfterReopening(root)).toEqual(['a', 'b', 'c']);
    const text = await readFile(activeFile(root), 'utf8');
    await writeFile(activeFile(root), text.replace(foreignLine('one'), foreignLine('eno')));
    await expect(idsAfterReopening(root)).rejects.toThrow(LogDamaged);
  },
);

it('foreign lines may copy lines and seals of the log, in the middle and at the end: they stay foreign', async () => {
  const root = await temporaryFolder();
  let store = await openFileStore({ root });
  for (const id of ['a', 'b']) await commitOne(store, looseEventTransaction(id));
  const ours = await readFile(activeFile(root), 'utf8');
  await appendFile(activeFile(root), ours);
  await commitOne(store, looseEventTransaction('c'));
  await store.close();
  expect(await idsAfterReopening(root)).toEqual(['a', 'b', 'c']);
  await appendFile(activeFile(root), ours);
  const atEnd = await readFile(activeFile(root), 'utf8');
  expect(await idsAfterReopening(root)).toEqual(['a', 'b', 'c']);
  expect(await readFile(activeFile(root), 'utf8')).toBe(atEnd);
  store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('d'));
  await store.close();
  expect(await idsAfterReopening(root)).toEqual(['a', 'b', 'c', 'd']);
});

it('foreign lines that look like the next event of the log never become one', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  const [line = ''] = (await readFile(activeFile(root), 'utf8')).split('\n');
  const next = line.replace('"event_id":"a"', '"event_id":"forged"').replace('"position":1', '"position":2');
  await appendFile(activeFile(root), `${next}\n`);
  await commitOne(store, looseEventTransaction('b'));
  await store.close();
  expect(await idsAfterReopening(root)).toEqual(['a', 'b']);
  await appendFile(activeFile(root), `${next.replace('"position":2', '"position":3')}\n${COPIED_SEAL}\n`);
  expect(await readLogUnverified(nodeDisk, projectLogFolder(root), () => {})).toBeNull();
  expect(await idsAfterReopening(root)).toEqual(['a', 'b']);
});

it('foreign lines may fill the end of a closed segment with anything', async () => {
  const root = await temporaryFolder();
  const faults: InjectedDiskFaults = {};
  const store = await openFileStore({ root, segment_bytes_max: 1, disk: faultyDisk(faults) });
  faults.sync = async (path, sync) => {
    if (path.endsWith('events.jsonl')) await appendFile(path, `no JSON\n${COPIED_SEAL}\n`);
    delete faults.sync;
    await sync();
  };
  for (const id of ['a', 'b', 'c']) await commitOne(store, looseEventTransaction(id));
  await store.close();
  expect(await idsAfterReopening(root)).toEqual(['a', 'b', 'c']);
});

it('foreign lines hide no damage: a changed line before them is refused by its number', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  for (const id of ['a', 'b', 'c']) {
    await commitOne(store, looseEventTransaction(id));
    await appendFile(activeFile(root), 'no JSON\n');
  }
  await commitOne(store, looseEventTransaction('d'));
  await store.close();
  const text = await readFile(activeFile(root), 'utf8');
  await writeFile(activeFile(root), text.replace('"event_id":"b"', '"event_id":"B"'));
  await expect(idsAfterReopening(root)).rejects.toThrow(/events\.jsonl, lines? \d/);
});

describe('foreign lines in the log of a workspace', () => {
  const eventsOf = (lines: readonly Buffer[], { seal, now_ms }: ForeignLinesContext) =>
    lines.flatMap((line, at) =>
      String(line).trim() === ''
        ? []
        : eventOf(KEY, {
            event_id: `${seal.slice(0, 8)}-${at}`,
            event_type: 'said',
            timestamp: new Date(now_ms).toISOString(),
            payload: { raw: String(line) },
          }),
    );
  const options = (root: string) => ({ root, home: KEY, foreign_events: eventsOf });
  const log = (root: string) => join(root, 'events.jsonl');
  const rawsOf = async (root: string) => {
    const store = await openFileStore(options(root));
    const raws = (await allEvents(store)).map(({ event_id, payload }) => payload.raw ?? event_id);
    await store.close();
    return raws;
  };

  it('are imported once each, in order, with the seal that covers them', async () => {
    const root = await temporaryFolder();
    let store = await openFileStore(options(root));
    await commitOne(store, looseEventTransaction('a'));
    await appendFile(log(root), 'one\none\n\n');
    await commitOne(store, looseEventTransaction('b'));
    await appendFile(log(root), 'two\n');
    expect(await store.importForeignLines(KEY)).toBe(true);
    expect(await store.importForeignLines(KEY)).toBe(false);
    await appendFile(log(root), 'one\n');
    await store.close();
    expect(await rawsOf(root)).toEqual(['a', 'b', 'one', 'one', 'two']);
    store = await openFileStore(options(root));
    expect(await store.importForeignLines(KEY)).toBe(true);
    await store.close();
    expect(await rawsOf(root)).toEqual(['a', 'b', 'one', 'one', 'two', 'one']);
    expect((await sealsIn(log(root))).map(({ foreign }) => foreign?.lines)).toEqual([undefined, 3, 1, 1]);
  });

  it('are imported by the thousands, in batches, also when a write fails among them', async () => {
    const root = await temporaryFolder();
    const faults: InjectedDiskFaults = {};
    const store = await openFileStore({ ...options(root), disk: faultyDisk(faults) });
    await commitOne(store, looseEventTransaction('a'));
    const many = Array.from({ length: 3000 }, (_, at) => `line ${at}`);
    await appendFile(log(root), `${many.join('\n')}\n`);
    let writes = 0;
    faults.write = async (_, bytes, write) => {
      writes += 1;
      if (writes === 4) throw diskError('EIO');
      return write(bytes);
    };
    await store.importForeignLines(KEY);
    expect(await store.importForeignLines(KEY)).toBe(true);
    await store.close();
    expect(await rawsOf(root)).toEqual(['a', ...many]);
    expect(Math.max(...(await sealsIn(log(root))).map(({ lines }) => lines))).toBeLessThanOrEqual(256);
  });

  it('are not imported while they are unfinished', async () => {
    const root = await temporaryFolder();
    const store = await openFileStore(options(root));
    await commitOne(store, looseEventTransaction('a'));
    await appendFile(log(root), 'whole\nhalf');
    expect(await store.importForeignLines(KEY)).toBe(false);
    await appendFile(log(root), ' a line\n');
    expect(await store.importForeignLines(KEY)).toBe(true);
    await store.close();
    expect(await rawsOf(root)).toEqual(['a', 'whole', 'half a line']);
  });
});

it('foreign lines that are being written delay a commit until they are complete', async () => {
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
  expect(await idsAfterReopening(root)).toEqual(['a', 'b']);
});

it('foreign lines that are never finished stop commits, and nothing is written or lost', async () => {
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
  expect(await idsAfterReopening(root)).toEqual(['a', 'c']);
});

it('foreign lines survive a write of the coordinator that fails at the same time', async () => {
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
  expect(await idsAfterReopening(root)).toEqual(['a', 'c']);
});

it('foreign lines after torn lines are kept, and the torn lines are cut', async () => {
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
  const remainingLines = [first, seal, foreignLine('one'), foreignLine('two')];
  expect(files.get('p/events.jsonl')?.toString()).toBe(`${remainingLines.join('\n')}\n`);
  expect(files.get('p/torn-1-1.bin')?.toString()).toContain(torn);
  expect(log.state.foreign.map(String)).toEqual([foreignLine('one'), foreignLine('two')]);
  expect(log.files.last.bytes).toBe(files.get('p/events.jsonl')?.length);
  await writeFile(activeFile(root), files.get('p/events.jsonl') as Buffer);
  await writeFile(join(projectLogFolder(root), 'durable'), '');
  store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('c'));
  await store.close();
  expect(await idsAfterReopening(root)).toEqual(['a', 'c']);
});

it('foreign lines do not shift what a reader verifies: a changed byte of the block is damage', async () => {
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
