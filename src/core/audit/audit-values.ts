import { z } from 'zod';

/** Computes SHA-256. Injected, because core has no cryptography. */
export type HashBytes = (data: Uint8Array) => Uint8Array;
/**
 * Verifies an Ed25519 signature. Key and signature are in base64url, as in records; false if the key is not a valid curve
 * point.
 */
export type VerifySignature = (publicKey: string, text: string, signature: string) => boolean;

export interface ProjectIds {
  readonly tenant_id: string;
  readonly project_id: string;
}

/**
 * 32 bytes in base64url. The last character has unused bits, which must be zero: otherwise one value would have several
 * spellings. The check is a pattern and does not decode, so that a checker in another language can use the same pattern.
 */
export const bytes32 = z.string().regex(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/, {
  error: 'expected 32 bytes in base64url: 43 characters',
});
export const bytes64 = z.string().regex(/^[A-Za-z0-9_-]{85}[AQgw]$/, {
  error: 'expected 64 bytes in base64url: 86 characters',
});
export const auditKeyId = z.string().regex(/^[0-9a-f]{16}$/, {
  error: 'expected the id of an audit key: 16 lowercase hex digits',
});
/**
 * A tenant or project id in a signed text, including the internal project `_tenant` and the internal tenant `_genesis`,
 * whose names users cannot choose.
 */
export const idInStatement = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9._~@+-]{0,127}$/, {
  error: 'expected an id of letters, digits and . _ ~ @ + -, beginning with a letter, a digit or _',
});
/** A time in a signed text. Only the format is checked, not that the date exists: the signature covers the text. */
export const timeInStatement = z
  .string()
  .regex(/^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}\.[0-9]{3}Z$/, {
    error: 'expected a time as 2026-01-04T06:00:00.000Z',
  });

export const toBase64url = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
export const fromBase64url = (text: string): Uint8Array => Buffer.from(text, 'base64url');
export const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8');
export const equalBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

/** The id of a key: the first 16 hex digits of the SHA-256 of its 32 bytes. */
export const keyIdOf = (hash: HashBytes, publicKey: string): string =>
  Buffer.from(hash(fromBase64url(publicKey))).toString('hex', 0, 8);
