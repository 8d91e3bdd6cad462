import { generateKeyPairSync, sign } from 'node:crypto';
import { keyIdOf } from '../../core/audit/audit-values.js';
import { sha256 } from './audit-hash.js';
import type { AuditSigner } from './signer.js';

/** A signer with a key of its own. */
export function newAuditSigner(): AuditSigner {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x: public_key = '' } = publicKey.export({ format: 'jwk' });
  const signText = async (text: string) => sign(null, Buffer.from(text), privateKey).toString('base64url');
  return { key_id: keyIdOf(sha256, public_key), public_key, sign: signText };
}
