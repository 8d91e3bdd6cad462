import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Disk, isErrorCode, writeAtomically } from '../../stores/file/disk.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { newPrivateKey, toPem } from '../private-key-file.js';
import { previousKeysFile, readAuditKey, readPreviousKeys, signerOf } from './audit-key.js';

const OWNER_ONLY = 0o600;

export interface RotatedKey {
  readonly old_key_id: string;
  readonly new_key_id: string;
}

/**
 * Replaces the key in a file with a new key. The old key is kept in a file beside it, because it must sign for the new
 * key in every project. It is first made durable in the file of previous keys; then a rename puts the new key in place.
 * After a crash the key file has the old or the new key, the old key is in at least one of the two files, and the
 * command can be run again.
 */
export async function rotateKeyFile(path: string, disk: Disk = nodeDisk): Promise<RotatedKey> {
  const file = await realpath(path).catch((error) => {
    if (!isErrorCode(error, 'ENOENT')) throw error;
    throw new Error(`There is no audit key ${path} to rotate. gen up creates it.`);
  });
  const lock = await disk.lock(`${file}.lock`);
  if (lock === null)
    throw new Error(
      `Another process is rotating the audit key ${file}. Run this command again when that process has finished.`,
    );
  try {
    return await rotateLocked(file, disk);
  } finally {
    await lock.release();
  }
}

async function rotateLocked(file: string, disk: Disk): Promise<RotatedKey> {
  const folder = dirname(file);
  const oldKey = await readAuditKey(file);
  const oldKeyId = signerOf(oldKey).key_id;
  const previous = await readPreviousKeys(file);
  // An interrupted rotation may have saved the old key already.
  const isOldKeySaved = previous.some((key) => signerOf(key).key_id === oldKeyId);
  const savedPems = [...previous, ...(isOldKeySaved ? [] : [oldKey])].map(toPem).join('');
  await writeAtomically(disk, folder, basename(await previousKeysFile(file)), savedPems, OWNER_ONLY);
  const newKey = newPrivateKey();
  await writeAtomically(disk, folder, basename(file), toPem(newKey), OWNER_ONLY);
  return { old_key_id: oldKeyId, new_key_id: signerOf(newKey).key_id };
}
