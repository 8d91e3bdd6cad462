import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompactSign, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { JwtOptions } from '../../../src/server/auth/jwt.js';

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** A token issuer with its own key set on disk. */
export interface Issuer {
  /** The options with which a server accepts the tokens of this issuer. */
  readonly jwt: JwtOptions;
  /** Signs a token with these claims. `undefined` removes a default claim. */
  sign(claims: JWTPayload): Promise<string>;
  /** Signs a string as it is. */
  signText(payload: string): Promise<string>;
  remove(): Promise<void>;
}

export async function startIssuer(options: Partial<JwtOptions> = {}): Promise<Issuer> {
  const folder = await mkdtemp(join(tmpdir(), 'issuer-'));
  const { privateKey, publicKey } = await generateKeyPair('EdDSA');
  const jwks = join(folder, 'jwks.json');
  const key = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'EdDSA' };
  await writeFile(jwks, JSON.stringify({ keys: [key] }));
  const names = { iss: 'https://login.example', aud: 'genesis' };
  return {
    jwt: { jwks, issuer: names.iss, audience: names.aud, ...options },
    sign: (claims) =>
      new SignJWT({ ...names, sub: 'mallory', iat: nowSeconds(), exp: nowSeconds() + 600, ...claims })
        .setProtectedHeader({ alg: 'EdDSA', kid: 'k1' })
        .sign(privateKey),
    signText: (payload) =>
      new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg: 'EdDSA', kid: 'k1' }).sign(privateKey),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
