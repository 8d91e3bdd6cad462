import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { link, lstat, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrorCode } from '../stores/file/disk.js';

// Files with a private key (PKCS #8, PEM) that only their owner can read.

export const newPrivateKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;
export const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Throws if there is no such file, or if others may read it. `keyName` names the key in the message. */
export async function readPrivateKeyText(file: string, keyName: string): Promise<string> {
  const { mode } = await stat(file);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new Error(`The ${keyName} ${file} is readable by other users. Restrict it: chmod 600 ${file}`);
  return readFile(file, 'utf8');
}

/** `setting` is the variable that names the file. */
export function ed25519KeyOf(pem: string, file: string, setting: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Error(`${file} is not an Ed25519 key. Pass another file in ${setting}.`);
}

/**
 * Creates a file with a new key. Returns false if the file exists. The file gets its name when it is complete, so that
 * only one of two processes that start together creates it.
 */
export async function createKeyFile(file: string): Promise<boolean> {
  if (await hasEntry(file)) return false;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporaryFile = `${file}.${randomUUID()}`;
  try {
    await writeDurably(temporaryFile, toPem(newPrivateKey()));
    await link(temporaryFile, file);
    return true;
  } catch (error) {
    if (isErrorCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(temporaryFile, { force: true });
  }
}

const hasEntry = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => false,
  );

async function writeDurably(file: string, text: string): Promise<void> {
  const created = await open(file, 'wx', 0o600);
  try {
    await created.writeFile(text);
    await created.sync();
  } finally {
    await created.close();
  }
}
