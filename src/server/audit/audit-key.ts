import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
} from 'node:crypto';
import { mkdir, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AuditSigner } from '../../coordinator/audit/signer.js';

/** The key that signs checkpoints, and whether it was created just now. */
export interface OpenedAuditKey {
  readonly signer: AuditSigner;
  readonly isNew: boolean;
}

/** Opens the private key in a file (PKCS #8, PEM), and creates it if there is none. Throws if others may read it. */
export async function openAuditKey(file: string): Promise<OpenedAuditKey> {
  const isNew = await createKeyFile(file);
  const { mode } = await stat(file);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new Error(`The audit key ${file} is readable by other users. Restrict it: chmod 600 ${file}`);
  const key = createPrivateKey(await readFile(file, 'utf8'));
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`${file} is not an Ed25519 key. Pass another file in GENESIS_AUDIT_KEY.`);
  return { signer: signerOf(key), isNew };
}

/** False if the file exists. Two processes that start together end up with one key. */
async function createKeyFile(file: string): Promise<boolean> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const created = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return null;
    throw error;
  });
  if (created === null) return false;
  try {
    const { privateKey } = generateKeyPairSync('ed25519');
    await created.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await created.sync();
    return true;
  } finally {
    await created.close();
  }
}

function signerOf(key: KeyObject): AuditSigner {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return {
    key_id: hash('sha256', Buffer.from(x, 'base64url'), 'hex').slice(0, 16),
    public_key: x,
    sign: async (text) => sign(null, Buffer.from(text), key).toString('base64url'),
  };
}
