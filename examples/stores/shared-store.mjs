// A shared store with compare-and-swap, in a folder: a file for each record. Any number of coordinators may use it.
//
//   gen up --store 'module:./shared-store.mjs?folder=data'
//
// A name in a folder can be created once: link() fails if it exists. Object stores (If-None-Match: *) and databases (a
// unique key) have the same operation.

// @ts-check
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderBlobs, lockFile, openSharedStore, StoreUnavailable } from 'genesis-fleet/store';

const PAGE_RECORDS = 1000;

/** @type {import('genesis-fleet/store').StoreModule['openStore']} */
export async function openStore({ parameters }) {
  const folder = parameters.get('folder') ?? 'data';
  await mkdir(folder, { recursive: true });
  return openSharedStore(recordsIn(folder), { name: 'shared-example', blobs: new FolderBlobs(folder) });
}

/**
 * @param {string} folder
 * @returns {import('genesis-fleet/store').SharedRecords}
 */
function recordsIn(folder) {
  /** @param {string} log @param {number} number */
  const pathOf = (log, number) => join(folder, log, `${number}.json`);
  return {
    async read(log, after) {
      const records = [];
      for (let number = after + 1; records.length < PAGE_RECORDS; number += 1) {
        const record = await readFile(pathOf(log, number), 'utf8').catch(ignoreError('ENOENT'));
        if (record === undefined) break;
        records.push(record);
      }
      return records;
    },
    async add(log, number, record) {
      await mkdir(join(folder, log), { recursive: true });
      const draft = await writeDraft(folder, record);
      const added = await link(draft, pathOf(log, number)).then(() => true, ignoreError('EEXIST'));
      await unlink(draft);
      await syncFolder(join(folder, log));
      await syncFolder(folder);
      return added === true;
    },
    async replace(log, number, before, after) {
      // A file cannot be compared and replaced at once, so this happens under a lock. Nothing else replaces a record.
      const lock = await lockFile(join(folder, 'replace.lock'));
      if (lock === null)
        throw new StoreUnavailable('Another process is redacting records. Try again in a moment.');
      try {
        if ((await readFile(pathOf(log, number), 'utf8')) !== before) return false;
        await rename(await writeDraft(folder, after), pathOf(log, number));
        await syncFolder(join(folder, log));
        return true;
      } finally {
        await lock.release();
      }
    },
    async close() {},
  };
}

/**
 * Writes a complete file under a temporary name, which `read` ignores.
 *
 * @param {string} folder @param {string} text
 */
async function writeDraft(folder, text) {
  const draft = join(folder, `${randomUUID()}.draft`);
  const file = await open(draft, 'wx', 0o600);
  await file.writeFile(text);
  await file.sync();
  await file.close();
  return draft;
}

/** @param {string} folder */
async function syncFolder(folder) {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  await handle.sync();
  await handle.close();
}

/** @param {string} code */
const ignoreError = (code) => (/** @type {NodeJS.ErrnoException} */ error) => {
  if (error.code !== code) throw error;
};
