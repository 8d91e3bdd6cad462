import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { eventOf, transactionOf } from '../conformance/fixture.js';
import { LogDamaged, StoreRefused } from '../store.js';
import { openFileStore, StoreInUse } from './file-store.js';
import { fileMigrator } from './migrator.js';
import { nodeDisk } from './node-disk.js';
import { copyOfFormat1, format1Events, FORMAT_1_KEY as KEY } from './testing/format-1.js';
import { allEvents, commitOne } from './testing.js';
import { readLogUnverified } from './unverified-reader.js';

const noteTransaction = (event_id: string) =>
  transactionOf(KEY, { loose_events: [eventOf(KEY, { event_id })] });

async function migratedCopy(): Promise<string> {
  const root = await copyOfFormat1();
  await fileMigrator(root).up();
  return root;
}

async function filesIn(root: string): Promise<Record<string, string>> {
  const names = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.jsonl'));
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(root, name), 'utf8')] as const)),
  );
}

it('a format-1 log is refused for writing, with its folder and the command that migrates it', async () => {
  const root = await copyOfFormat1();
  const opening = openFileStore({ root });
  await expect(opening).rejects.toThrow(StoreRefused);
  await expect(opening).rejects.toThrow(`The log in ${root} has format 1, and this program writes format 2.`);
  await expect(opening).rejects.toThrow('gen migrate');
});

it('a format-1 log is migrated once, and only in store.json', async () => {
  const root = await copyOfFormat1();
  const before = await filesIn(root);
  const migrator = fileMigrator(root);
  expect(await migrator.status()).toEqual({ found: 1, wanted: 2 });
  expect(await migrator.pending()).toHaveLength(1);
  expect((await migrator.up()).map(({ version }) => version)).toEqual([2]);
  expect(await migrator.up()).toEqual([]);
  expect(await migrator.status()).toEqual({ found: 2, wanted: 2 });
  expect(await filesIn(root)).toEqual(before);
  expect(JSON.parse(await readFile(join(root, 'store.json'), 'utf8'))).toEqual({
    format: 2,
    incarnation: 1,
    secret: '07'.repeat(32),
  });
});

it('a format-1 log is not migrated while another process may write it', async () => {
  const root = await copyOfFormat1();
  const lock = await nodeDisk.lock(`${root}/lock`);
  await expect(fileMigrator(root).up()).rejects.toThrow(StoreInUse);
  await lock?.release();
  expect(await fileMigrator(root).status()).toMatchObject({ found: 1 });
});

it('a format-1 log is read after the migration, by position and by subject', async () => {
  const store = await openFileStore({ root: await migratedCopy() });
  const events = await format1Events();
  expect(await allEvents(store, KEY)).toEqual(events);
  const ofTask = await store.events(KEY, { after: 0, limit: 99, subject: 'A-001-core' });
  expect(ofTask).toEqual(events.filter(({ subject }) => subject === 'A-001-core'));
  const remembered = { requests: [{ key: 'remembered', digest: 'd', keep: true }] };
  expect(await commitOne(store, transactionOf(KEY, remembered))).toMatchObject({
    kind: 'replay',
    request: { reply: { said: ',"payload":{}' } },
  });
  await store.close();
});

it.each([64 * 1024 * 1024, 1])(
  'a migrated format-1 log continues in format 2, with segments closed at %i bytes',
  async (segment_bytes_max) => {
    const root = await migratedCopy();
    let store = await openFileStore({ root, segment_bytes_max });
    for (const id of ['a', 'b', 'c']) await commitOne(store, noteTransaction(id));
    const events = await allEvents(store, KEY);
    await store.close();
    for (const snapshots of ['with', 'without'] as const) {
      if (snapshots === 'without')
        await rm(join(root, 'acme/shop/snapshots'), { recursive: true, force: true });
      store = await openFileStore({ root, segment_bytes_max });
      expect(await allEvents(store, KEY)).toEqual(events);
      await store.close();
    }
    expect(events.slice(0, 13)).toEqual(await format1Events());
    expect(events.slice(13).map(({ event_id }) => event_id)).toEqual(['a', 'b', 'c']);
    const visitedEvents: EventEnvelope[] = [];
    const read = await readLogUnverified(nodeDisk, join(root, 'acme/shop'), (event) =>
      visitedEvents.push(event),
    );
    expect(read).not.toBeNull();
    expect(visitedEvents).toEqual(events);
  },
);

it('a format-1 line after a format-2 line counts as a line of another program', async () => {
  const root = await migratedCopy();
  const path = join(root, 'acme/shop/events.jsonl');
  const before = await readFile(path, 'utf8');
  const store = await openFileStore({ root });
  await commitOne(store, noteTransaction('a'));
  await commitOne(store, noteTransaction('b'));
  await store.close();
  const lines = (await readFile(path, 'utf8')).slice(before.length).trimEnd().split('\n');
  // A whole line that continues the last one of its own format, as an older program would write it.
  const format1Line = before.trimEnd().split('\n').at(-1) as string;
  await writeFile(path, `${before}${[...lines.slice(0, 2), format1Line, ...lines.slice(2)].join('\n')}\n`);
  const reopened = await openFileStore({ root });
  const ids = (await allEvents(reopened, KEY)).map(({ event_id }) => event_id);
  expect(ids.slice(-2)).toEqual(['a', 'b']);
  expect(new Set(ids).size).toBe(ids.length);
  await reopened.close();
});

it('a format-1 log is damaged if the text of a line changes', async () => {
  const path = 'acme/shop/segments/000000000001.jsonl';
  for (const [from, to] of [
    ['"CLAIM_ACQUIRED"', '"CLAIM_ACQUIREE"'],
    ['"payload":{', '"payload":[{'],
    ['"agent-a"', '"agent-x"'],
  ] as const) {
    const root = await migratedCopy();
    const text = await readFile(join(root, path), 'utf8');
    if (!text.includes(from)) throw new Error(`The fixture has no ${from}.`);
    await writeFile(join(root, path), text.replace(from, to));
    const store = await openFileStore({ root });
    await expect(allEvents(store, KEY)).rejects.toThrow(LogDamaged);
    await store.close();
  }
});

it('a format-1 log that was truncated while the store is open cannot be read beyond the cut', async () => {
  const root = await migratedCopy();
  const store = await openFileStore({ root });
  await store.projects(KEY.tenant_id);
  const path = join(root, 'acme/shop/segments/000000000001.jsonl');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.split('\n').slice(0, 3).join('\n'));
  await expect(allEvents(store, KEY)).rejects.toThrow(/the line is cut off or missing/);
  await store.close();
});

it('a format-1 log is damaged if a line is removed, also one without an event', async () => {
  const root = await migratedCopy();
  const path = join(root, 'acme/shop/segments/000000000006.jsonl');
  const lines = (await readFile(path, 'utf8')).split('\n');
  const record = lines.findIndex((line) => line.includes('"requests":[{"key":"remembered"'));
  await writeFile(path, lines.toSpliced(record, 1).join('\n'));
  const store = await openFileStore({ root });
  await expect(allEvents(store, KEY)).rejects.toThrow(/line 4: it does not continue the line before it/);
  await store.close();
});
