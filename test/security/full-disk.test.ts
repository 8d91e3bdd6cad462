import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import type { Disk } from '../../src/stores/file/disk.js';
import { FolderBlobs } from '../../src/stores/file/folder-blobs.js';
import { nodeDisk } from '../../src/stores/file/node-disk.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/**
 * Who: an agent, or another program on the machine, that fills the disk or exhausts the file descriptors of the server.
 *
 * What they want: a result that is acknowledged and lost, a partial blob that passes for a complete one, or a server
 * that replies with internal errors.
 *
 * What stops them: a blob is written under a temporary name, synced, and renamed. If the disk refuses it, the reply is
 * 503 `UNAVAILABLE`, nothing refers to the blob, and the partial file is removed.
 */

const BYTES = new Uint8Array(200_000).fill(7);
const SHA256 = createHash('sha256').update(BYTES).digest('hex');
const A = 'A-001-core';

/** Failures of a disk that is full or of a process without free file descriptors. */
const FAULTS: Record<string, (code: string) => Partial<Disk>> = {
  'opening a file': (code) => ({
    openAppend: async () => {
      throw diskError(code);
    },
  }),
  'writing the content': (code) => ({
    openAppend: async (path, mode) => {
      const file = await nodeDisk.openAppend(path, mode);
      return {
        write: async (bytes) => {
          await file.write(bytes.subarray(0, bytes.length >> 1));
          throw diskError(code);
        },
        read: (into, position) => file.read(into, position),
        sync: () => file.sync(),
        truncate: (size) => file.truncate(size),
        size: () => file.size(),
        close: () => file.close(),
      };
    },
  }),
  'creating the folder': (code) => ({
    makeFolder: async () => {
      throw diskError(code);
    },
  }),
  'checking whether it exists': (code) => ({
    openRead: async () => {
      throw diskError(code);
    },
  }),
  'syncing the folder': (code) => ({
    syncFolder: async () => {
      throw diskError(code);
    },
  }),
};

function diskError(code: string): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(`${code}: open '/srv/genesis/blobs/secret-path'`);
  return Object.assign(error, { code, syscall: 'open' });
}

async function startOnFaultyDisk() {
  const root = await temporaryFolder();
  const disk = { ...nodeDisk };
  const blobs = new FolderBlobs(root, disk);
  const server = await TestServer.forTest({ blobs });
  await server.putPlan(A);
  const setFaults = (faults: Partial<Disk>): void => void Object.assign(disk, faults);
  const files = async (): Promise<string[]> => {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  };
  return { server, setFaults, repairDisk: () => setFaults(nodeDisk), files };
}

for (const code of ['ENOSPC', 'EMFILE']) {
  it.each(Object.keys(FAULTS))(
    `a blob that fails with ${code} while %s gets 503 and leaves no partial file`,
    async (when) => {
      const { server, setFaults, repairDisk, files } = await startOnFaultyDisk();
      setFaults(FAULTS[when]?.(code) ?? {});
      const { status, body } = await server.request('PUT', `${PROJECT_URL}/blobs/${SHA256}`, BYTES);
      expect([status, body.code]).toEqual([503, 'UNAVAILABLE']);
      expect(body.detail).toMatch(/disk is full|file descriptors/);
      expect(JSON.stringify(body)).not.toContain('secret-path');
      // The content was synced before the file got its name: it is complete, or not there.
      expect((await files()).filter((name) => name !== SHA256)).toEqual([]);
      repairDisk();
      expect((await server.request('PUT', `${PROJECT_URL}/blobs/${SHA256}`, BYTES)).status).toBe(200);
      expect(await files()).toEqual([SHA256]);
    },
  );

  it(`a large result that fails with ${code} gets 503, and the task still waits for its result`, async () => {
    const { server, setFaults, repairDisk, files } = await startOnFaultyDisk();
    const handle = await server.claim(A);
    setFaults(FAULTS['writing the content']?.(code) ?? {});
    const result = { ...handle, result_data: { text: 'x'.repeat(100_000) } };
    const { status, body } = await server.post(`${PROJECT_URL}/results`, result);
    expect([status, body.code]).toEqual([503, 'UNAVAILABLE']);
    expect(await files()).toEqual([]);
    expect((await server.get(`${PROJECT_URL}/tasks/${A}/results`)).body.results).toEqual([]);
    repairDisk();
    expect((await server.post(`${PROJECT_URL}/results`, result)).body).toMatchObject({ accepted: true });
  });
}

it('a blob whose folder was not synced is synced by the next upload of that blob', async () => {
  const { server, setFaults, repairDisk } = await startOnFaultyDisk();
  setFaults(FAULTS['syncing the folder']?.('EMFILE') ?? {});
  expect((await server.request('PUT', `${PROJECT_URL}/blobs/${SHA256}`, BYTES)).status).toBe(503);
  const synced: string[] = [];
  repairDisk();
  setFaults({
    syncFolder: async (path) => {
      synced.push(path);
      await nodeDisk.syncFolder(path);
    },
  });
  expect((await server.request('PUT', `${PROJECT_URL}/blobs/${SHA256}`, BYTES)).status).toBe(200);
  expect(synced.some((path) => path.endsWith(join('acme', SHA256.slice(0, 2))))).toBe(true);
});
