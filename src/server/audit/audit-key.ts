import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { sha256 } from '../../coordinator/audit/audit-hash.js';
import type { AuditSigner } from '../../coordinator/audit/signer.js';
import { keyIdOf } from '../../core/audit/audit-values.js';
import { unlessMissing } from '../../stores/file/disk.js';
import { createKeyFile, ed25519KeyOf, readPrivateKeyText } from '../private-key-file.js';

const AUDIT_KEY = 'audit key';
const AUDIT_KEY_VARIABLE = 'GENESIS_AUDIT_KEY';

/** The key that signs checkpoints, and whether it was created just now. */
interface OpenedAuditKey {
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
  return ed25519KeyOf(await readPrivateKeyText(file, AUDIT_KEY), file, AUDIT_KEY_VARIABLE);
}

/** The file with the keys that `gen audit rotate` has replaced, oldest first. `file` may be a link to the key. */
export const previousKeysFile = async (file: string): Promise<string> => `${await realpath(file)}.previous`;

/** The keys that the key in this file has replaced, oldest first. */
export async function readPreviousKeys(file: string): Promise<KeyObject[]> {
  const previousFile = await previousKeysFile(file);
  const text = await unlessMissing(readPrivateKeyText(previousFile, AUDIT_KEY), '');
  const pems = text.match(/-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g) ?? [];
  return pems.map((pem) => ed25519KeyOf(pem, previousFile, AUDIT_KEY_VARIABLE));
}

export function signerOf(key: KeyObject): AuditSigner {
  const { x: public_key = '' } = createPublicKey(key).export({ format: 'jwk' });
  return {
    key_id: keyIdOf(sha256, public_key),
    public_key,
    sign: async (text) => sign(null, Buffer.from(text), key).toString('base64url'),
  };
}
