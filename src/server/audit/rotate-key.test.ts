import { mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Disk, DiskFile } from '../../stores/file/disk.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { diskError } from '../../stores/file/testing.js';
import { openAuditKey } from './audit-key.js';
import { openSigner } from './open-signer.js';
import { rotateKeyFile } from './rotate-key.js';

let cwd: string;
let file: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'rotate-'));
  file = join(cwd, 'audit-key.pem');
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
});

const create = async (): Promise<string> => (await openAuditKey(file)).signer.key_id;
/** The ids of the key in the file and of the previous keys, newest first. Expects that no key is created. */
async function keyIds(): Promise<string[]> {
  const { signer, previousSigners, isNew } = await openSigner(file, '', cwd);
  expect(isNew).toBe(false);
  return [signer, ...previousSigners].map(({ key_id }) => key_id);
}

it('keeps every previous key, newest first, in files that only the owner can read', async () => {
  const one = await create();
  const two = await rotateKeyFile(file);
  const three = await rotateKeyFile(file);
  expect([two.old_key_id, three.old_key_id]).toEqual([one, two.new_key_id]);
  expect(await keyIds()).toEqual([three.new_key_id, two.new_key_id, one]);
  if (process.platform === 'win32') return;
  for (const name of [file, `${file}.previous`]) expect((await stat(name)).mode & 0o777).toBe(0o600);
});

it('rotates the key that a link leads to', async () => {
  const one = await create();
  const link = join(cwd, 'link.pem');
  await symlink(file, link);
  const { new_key_id } = await rotateKeyFile(link);
  expect(await keyIds()).toEqual([new_key_id, one]);
  const throughLink = await openSigner(link, '', cwd);
  expect(throughLink.previousSigners.map(({ key_id }) => key_id)).toEqual([one]);
});

it('refuses if there is no key, and creates none', async () => {
  await expect(rotateKeyFile(file)).rejects.toThrow('gen up creates it');
  await expect(stat(file)).rejects.toThrow('ENOENT');
});

it('lets only one process at a time rotate the key', async () => {
  await create();
  const lock = await nodeDisk.lock(`${file}.lock`);
  await expect(rotateKeyFile(file)).rejects.toThrow('Another process');
  await lock?.release();
  const results = await Promise.allSettled([rotateKeyFile(file), rotateKeyFile(file)]);
  const done = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value.new_key_id] : []));
  expect((await keyIds()).slice(0, done.length).sort()).toEqual(done.sort());
});

it('makes the file of the old key durable before the new key replaces it', async () => {
  await create();
  const steps: string[] = [];
  await rotateKeyFile(
    file,
    watchedDisk((step) => steps.push(step)),
  );
  const keptAt = steps.indexOf('rename audit-key.pem.previous');
  const replacedAt = steps.indexOf('rename audit-key.pem');
  expect(steps.slice(0, keptAt)).toContain('sync audit-key.pem.previous.tmp');
  expect(steps.slice(keptAt, replacedAt)).toContain('syncFolder');
  expect(steps.slice(0, replacedAt)).toContain('sync audit-key.pem.tmp');
  expect(steps.at(-1)).toBe('syncFolder');
});

it('loses no key when any step fails, and completes when it is repeated', async () => {
  const first = await create();
  const steps: string[] = [];
  await rotateKeyFile(
    file,
    watchedDisk((step) => steps.push(step)),
  );
  expect(steps.length).toBeGreaterThan(8);
  const expectedKeyIds = new Set([first]);
  for (let failingStep = 0; failingStep < steps.length; failingStep += 1) {
    for (const keyId of await keyIds()) expectedKeyIds.add(keyId);
    const before = (await keyIds())[0];
    let step = 0;
    const disk = watchedDisk(() => {
      if (step++ === failingStep) throw diskError('EIO');
    });
    await expect(rotateKeyFile(file, disk)).rejects.toThrow('EIO');
    const after = await keyIds();
    expect(after).toContain(before);
    expect([...expectedKeyIds].filter((keyId) => !after.includes(keyId))).toEqual([]);
  }
  const { new_key_id } = await rotateKeyFile(file);
  const ids = await keyIds();
  expect(ids[0]).toBe(new_key_id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await readFile(`${file}.previous`, 'utf8')).not.toContain('undefined');
});

/** The real disk, which calls `onStep` before each step. A write that fails has written half of the bytes. */
function watchedDisk(onStep: (step: string) => void): Disk {
  const nameOf = (path: string): string => path.slice(cwd.length + 1);
  const watchedFile = (path: string, opened: DiskFile): DiskFile => ({
    ...opened,
    write: async (bytes) => {
      try {
        onStep(`write ${nameOf(path)}`);
      } catch (error) {
        await opened.write(bytes.subarray(0, bytes.length / 2));
        throw error;
      }
      return opened.write(bytes);
    },
    sync: async () => {
      onStep(`sync ${nameOf(path)}`);
      await opened.sync();
    },
  });
  return {
    ...nodeDisk,
    openAppend: async (path, mode) => {
      onStep(`open ${nameOf(path)}`);
      return watchedFile(path, await nodeDisk.openAppend(path, mode));
    },
    unlink: async (path) => {
      onStep(`unlink ${nameOf(path)}`);
      await nodeDisk.unlink(path);
    },
    rename: async (from, to) => {
      onStep(`rename ${nameOf(to)}`);
      await nodeDisk.rename(from, to);
    },
    syncFolder: async (path) => {
      onStep('syncFolder');
      await nodeDisk.syncFolder(path);
    },
  };
}
