import { createPublicKey, verify } from 'node:crypto';

/** Whether an Ed25519 key has signed a text. False if the key or the signature is malformed. */
export function verifySignatureSync(publicKey: string, text: string, signature: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}
