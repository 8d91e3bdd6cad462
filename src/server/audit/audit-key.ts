import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto';
import { link, lstat, mkdir, open, readFile, realpath, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sha256 } from '../../coordinator/audit/audit-hash.js';
import type { AuditSigner } from '../../coordinator/audit/signer.js';
import { keyIdOf } from '../../core/audit/audit-values.js';
import { isErrorCode } from '../../stores/file/disk.js';

/** The key that signs checkpoints, and whether it was created just now. */
export interface OpenedAuditKey {
  readonly signer: AuditSigner;
  readonly isNew: boolean;
}

/** Opens the private key in a file (PKCS #8, PEM), and creates it if there is none. Throws if others may read it. */
export async function openAuditKey(file: string): Promise<OpenedAuditKey> {
  const isNew = await createKeyFile(file);
  return { signer: signerOf(await readAuditKey(file)), isNew };
}

/** Throws if there is no such file, or if others may read it. */
export async function readAuditKey(file: string): Promise<KeyObject> {
  return ed25519KeyOf(await readPrivateFile(file), file);
}

/** The file with the keys that `gen audit rotate` has replaced, oldest first. A link to the key leads to it too. */
export const previousKeysFile = async (file: string): Promise<string> => `${await realpath(file)}.previous`;

/** The keys that the key in this file has replaced, oldest first. */
export async function readPreviousKeys(file: string): Promise<KeyObject[]> {
  const previousFile = await previousKeysFile(file);
  const text = await readPrivateFile(previousFile).catch((error) => {
    if (isErrorCode(error, 'ENOENT')) return '';
    throw error;
  });
  const pems = text.match(/-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g) ?? [];
  return pems.map((pem) => ed25519KeyOf(pem, previousFile));
}

export function signerOf(key: KeyObject): AuditSigner {
  const { x: public_key = '' } = createPublicKey(key).export({ format: 'jwk' });
  return {
    key_id: keyIdOf(sha256, public_key),
    public_key,
    sign: async (text) => sign(null, Buffer.from(text), key).toString('base64url'),
  };
}

export const newPrivateKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;
export const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

async function readPrivateFile(file: string): Promise<string> {
  const { mode } = await stat(file);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new Error(`The audit key ${file} is readable by other users. Restrict it: chmod 600 ${file}`);
  return readFile(file, 'utf8');
}

function ed25519KeyOf(pem: string, file: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Error(`${file} is not an Ed25519 key. Pass another file in GENESIS_AUDIT_KEY.`);
}

/** False if the file exists. It gets its name when it is complete; of two processes that start together, one wins. */
async function createKeyFile(file: string): Promise<boolean> {
  if (await isThere(file)) return false;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${randomUUID()}`;
  try {
    await writeDurably(unfinished, toPem(newPrivateKey()));
    await link(unfinished, file);
    return true;
  } catch (error) {
    if (isErrorCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
}

const isThere = (file: string): Promise<boolean> =>
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
