import { createHash, type KeyObject, sign } from 'node:crypto';
import { bodyText, type CommandToSign, signedText, writeSignature } from '../core/signing.js';

/** The `signature` of a command, by the Ed25519 key whose public half the session was opened with. */
export function signCommand(asked: CommandToSign, private_key: KeyObject, at = new Date()): string {
  const issued_at = at.toISOString();
  const digest = createHash('sha256').update(bodyText(asked)).digest('hex');
  const bytes = Buffer.from(signedText(asked, digest, issued_at));
  return writeSignature(issued_at, sign(null, bytes, private_key).toString('base64url'));
}

/** The public half as a session registers it: its 32 bytes in base64url. */
export const publicKeyText = (key: KeyObject): string => key.export({ format: 'jwk' }).x ?? '';
