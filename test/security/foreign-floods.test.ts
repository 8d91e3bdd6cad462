import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLog } from '../../src/cli/verify/read-log.js';
import { eventOf } from '../../src/stores/conformance/fixture.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { nodeDisk } from '../../src/stores/file/node-disk.js';
import {
  activeFile,
  allEvents,
  commitOne,
  KEY,
  looseEventTransaction,
  projectLogFolder,
} from '../../src/stores/file/testing.js';
import { LogDamaged, StoreBroken, StoreUnavailable } from '../../src/stores/store.js';
import { transactionOf } from '../../src/stores/transaction.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** Attack: another program appends the lines of a whole other log of this format, or more lines than a log can take in. */

const idsOf = async (store: Awaited<ReturnType<typeof openFileStore>>) =>
  (await allEvents(store)).map(({ event_id }) => event_id);

/** Opens the store again, which checks every line, and returns the ids of its events. */
async function reopenedIds(root: string): Promise<string[]> {
  const store = await openFileStore({ root });
  try {
    return await idsOf(store);
  } finally {
    await store.close();
  }
}

const verifyLog = (root: string) => readLog({ folder: projectLogFolder(root) }, () => {});

/** The lines of a valid log with this many blocks, of another project or of this one. */
async function ownLog(projectId: string, blocks: number): Promise<string> {
  const root = await temporaryFolder();
  const key = { ...KEY, project_id: projectId };
  const store = await openFileStore({ root, home: key });
  for (let at = 0; at < blocks; at += 1) {
    const event = eventOf(key, { event_id: `${projectId}-${at}`, event_type: 'said' });
    await commitOne(store, transactionOf(key, { loose_events: [event] }));
  }
  await store.close();
  return readFile(join(root, 'events.jsonl'), 'utf8');
}

it.each(['other', KEY.project_id])(
  'a log stays valid if the lines of another program are a longer valid log, of project %s',
  async (from) => {
    const root = await temporaryFolder();
    const store = await openFileStore({ root });
    await commitOne(store, looseEventTransaction('a'));
    await appendFile(activeFile(root), await ownLog(from, 5));
    await commitOne(store, looseEventTransaction('b'));
    await store.close();
    expect(await reopenedIds(root)).toEqual(['a', 'b']);
    const report = await verifyLog(root);
    expect(report.damage).toBe(null);
  },
);

it('lines of the log of another project at the end of a log do not become events of that log', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  await store.close();
  await appendFile(activeFile(root), await ownLog('other', 5));
  expect(await reopenedIds(root)).toEqual(['a']);
});

it('a log takes in more lines of another program than a function call can have arguments', async () => {
  const root = await temporaryFolder();
  const options = { root, home: KEY, foreign_events: () => [] };
  let store = await openFileStore(options);
  await commitOne(store, looseEventTransaction('a'));
  await store.close();
  await appendFile(join(root, 'events.jsonl'), 'x\n'.repeat(190_000));
  store = await openFileStore(options);
  await commitOne(store, looseEventTransaction('b'));
  await commitOne(store, looseEventTransaction('c'));
  expect(await idsOf(store)).toEqual(['a', 'b', 'c']);
  await store.close();
});

it('a commit is refused while very many lines of another program are read, and later commits succeed', async () => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  await appendFile(activeFile(root), 'x\n'.repeat(110_000));
  await expect(commitOne(store, looseEventTransaction('b'))).rejects.toThrow(StoreUnavailable);
  await commitOne(store, looseEventTransaction('c'));
  expect(await idsOf(store)).toEqual(['a', 'c']);
  await store.close();
  expect(await reopenedIds(root)).toEqual(['a', 'c']);
});

it.each([
  ['lines', 'x\n'.repeat(450_000)],
  ['bytes', `${JSON.stringify({ said: 'x'.repeat(1_000_000) })}\n`.repeat(70)],
  // Each forged seal covers all lines before it, so checking every seal would hash the same lines again and again.
  ['seals', forgedSeals(8000)],
])('too many lines of another program stop the log, and no line of the log is lost: %s', async (_, flood) => {
  const root = await temporaryFolder();
  const store = await openFileStore({ root });
  await commitOne(store, looseEventTransaction('a'));
  const before = await readFile(activeFile(root), 'utf8');
  await appendFile(activeFile(root), flood);
  await expect(commitOne(store, looseEventTransaction('b'))).rejects.toThrow(LogDamaged);
  await store.close();
  await expect(reopenedIds(root)).rejects.toThrow(/more lines of other programs follow than a log accepts/);
  expect((await stat(activeFile(root))).size).toBe(before.length + flood.length);
  expect((await verifyLog(root)).damage?.why).toMatch(/more lines of other programs/);
  await writeFile(activeFile(root), before);
  expect(await reopenedIds(root)).toEqual(['a']);
});

function forgedSeals(count: number): string {
  const seals = Array.from(
    { length: count },
    (_, at) => `{"seal":"${'A'.repeat(43)}","lines":${at + 1},"durable":0,"at_ms":1}`,
  );
  return `no JSON ${'x'.repeat(200_000)}\n${seals.join('\n')}\n`;
}

it('a block that another process writes with an unfinished line after it does not become part of the log', async () => {
  const root = await temporaryFolder();
  const other = await temporaryFolder();
  const store = await openFileStore({ root, disk: { ...nodeDisk, pause: async () => {} } });
  await commitOne(store, looseEventTransaction('a'));
  const before = await readFile(activeFile(root), 'utf8');
  await mkdir(projectLogFolder(other), { recursive: true });
  await writeFile(activeFile(other), before);
  const forger = await openFileStore({ root: other });
  await commitOne(forger, looseEventTransaction('forged'));
  await forger.close();
  const forged = (await readFile(activeFile(other), 'utf8')).slice(before.length);
  await appendFile(activeFile(root), `${forged}{"unfinished`);
  await expect(commitOne(store, looseEventTransaction('b'))).rejects.toThrow(StoreBroken);
  await expect(allEvents(store)).rejects.toThrow(StoreBroken);
  await store.close();
});
