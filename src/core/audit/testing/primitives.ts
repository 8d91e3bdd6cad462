import { createPrivateKey, createPublicKey, hash, randomUUID, sign, verify } from 'node:crypto';
import { type HashBytes, keyIdOf, utf8, type VerifySignature } from '../audit-values.js';

export const testSha256: HashBytes = (data) => hash('sha256', data, 'buffer');

/** A list of numbered leaves, as hashes. */
export const numberedLeaves = (count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, at) => testSha256(utf8(`leaf ${at}`)));

export const verifyEd25519: VerifySignature = (publicKey, text, signature) => {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });
    return verify(null, utf8(text), key, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
};

export interface TestSigner {
  readonly key_id: string;
  readonly public_key: string;
  sign(text: string): string;
}

/** What precedes the 32 bytes of a private key in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A new key; for the same name, always the same key. */
export function newSigner(name: string = randomUUID()): TestSigner {
  const der = Buffer.concat([PKCS8_PREFIX, testSha256(utf8(name))]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const public_key = createPublicKey(privateKey).export({ format: 'jwk' }).x as string;
  return {
    key_id: keyIdOf(testSha256, public_key),
    public_key,
    sign: (text) => sign(null, utf8(text), privateKey).toString('base64url'),
  };
}

/** Random numbers below 1 that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
