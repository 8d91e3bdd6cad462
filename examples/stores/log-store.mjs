// A log with one writer, in one file: a line for each record.
//
//   gen up --store 'module:./log-store.mjs?folder=data'

// @ts-check
import { mkdir, open, readFile, rename, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderBlobs, lockFile, openLogStore, StoreRefused } from 'genesis-fleet/store';

/** @type {import('genesis-fleet/store').StoreModule['openStore']} */
export async function openStore({ parameters }) {
  const folder = parameters.get('folder') ?? 'data';
  await mkdir(folder, { recursive: true });
  return openLogStore(await openLines(folder), { name: 'log-example', blobs: new FolderBlobs(folder) });
}

/**
 * @param {string} folder
 * @returns {Promise<import('genesis-fleet/store').RecordLog>}
 */
async function openLines(folder) {
  const path = join(folder, 'records.jsonl');
  const lock = await lockFile(join(folder, 'lock'));
  if (lock === null) throw new StoreRefused(`Another process has the log in ${folder} open. Stop it first.`);
  await removeTornLine(path);
  let file = await open(path, 'a', 0o600);
  await syncFolder(folder);
  return {
    async *read() {
      yield* (await readFile(path, 'utf8')).split('\n').slice(0, -1);
    },
    async append(records) {
      await file.writeFile(linesOf(records));
      await file.datasync();
    },
    async replaceAll(records) {
      const newFile = await open(`${path}.new`, 'w', 0o600);
      await newFile.writeFile(linesOf(records));
      await newFile.sync();
      await newFile.close();
      await file.close();
      await rename(`${path}.new`, path);
      await syncFolder(folder);
      file = await open(path, 'a');
    },
    async close() {
      await file.close();
      await lock.release();
    },
  };
}

/** @param {readonly string[]} records */
const linesOf = (records) => records.map((record) => `${record}\n`).join('');

/**
 * A crash can leave a part of the last line. That record was never confirmed, and must not become part of the next line.
 *
 * @param {string} path
 */
async function removeTornLine(path) {
  const bytes = await readFile(path).catch((error) => {
    if (error.code !== 'ENOENT') throw error;
    return Buffer.alloc(0);
  });
  const end = bytes.lastIndexOf('\n') + 1;
  if (end < bytes.length) await truncate(path, end);
}

/**
 * A new file name is durable only after its folder is synced.
 *
 * @param {string} folder
 */
async function syncFolder(folder) {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  await handle.sync();
  await handle.close();
}
