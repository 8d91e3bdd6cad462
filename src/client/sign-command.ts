import { createHash, type KeyObject, sign } from 'node:crypto';
import { bodyText, type CommandToSign, signedText, writeSignature } from '../core/signing.js';

/** Signs a command with the Ed25519 key whose public key the session was opened with. */
export function signCommand(command: CommandToSign, privateKey: KeyObject, at = new Date()): string {
  const issuedAt = at.toISOString();
  const digest = createHash('sha256').update(bodyText(command)).digest('hex');
  const bytes = Buffer.from(signedText(command, digest, issuedAt));
  return writeSignature(issuedAt, sign(null, bytes, privateKey).toString('base64url'));
}

/** The public key as a session registers it: 32 bytes in base64url. */
export const publicKeyText = (key: KeyObject): string => key.export({ format: 'jwk' }).x ?? '';
