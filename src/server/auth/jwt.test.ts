import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { isProblem } from '../../coordinator/wire/problem.js';
import { type JwtOptions, openTokenVerifier } from './jwt.js';

/** The wall clock is frozen, so that no token expires during a test. */
const NOW = Math.floor(Date.now() / 1000);
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW * 1000 }));
afterAll(() => void vi.useRealTimers());

const CLAIMS = { iss: 'https://login', aud: 'genesis', sub: 'alice', tenant_id: 'acme', role: 'agent' };

async function newIssuer(alg = 'EdDSA') {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg };
  const sign = (claims: JWTPayload = {}) =>
    new SignJWT({ ...CLAIMS, iat: NOW, exp: NOW + 600, ...claims })
      .setProtectedHeader({ alg, kid: 'k1' })
      .sign(privateKey);
  return { jwk, sign };
}

async function newFolder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'jwks-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

async function openVerifier(jwk: object, options: Partial<JwtOptions> = {}, now?: () => number) {
  const jwks = join(await newFolder(), 'jwks.json');
  await writeFile(jwks, JSON.stringify({ keys: [jwk] }));
  return openTokenVerifier({ jwks, issuer: CLAIMS.iss, audience: CLAIMS.aud, ...options }, now);
}

test.each(['EdDSA', 'ES256', 'RS256'])('a token signed with %s identifies the caller', async (alg) => {
  const { jwk, sign } = await newIssuer(alg);
  expect(await (await openVerifier(jwk))(await sign())).toEqual({
    id: 'jwt/acme/alice',
    kind: 'jwt',
    tenant_id: 'acme',
    role: 'agent',
    name: 'alice',
    user_id: 'alice',
    agent_role: null,
    expires_at_ms: (NOW + 600 + 5) * 1000,
  });
});

test.each([
  ['has expired', { exp: NOW - 60 }],
  ['is not valid yet', { nbf: NOW + 600 }],
  ['has another issuer', { iss: 'https://other' }],
  ['has another audience', { aud: 'another' }],
  ['has no expiry', { exp: undefined }],
  ['has no issue time', { iat: undefined }],
  ['exceeds the maximum lifetime', { exp: NOW + 901 }],
  ['is issued in the future', { iat: NOW + 3600, exp: NOW + 3700 }],
  ['names no tenant', { tenant_id: undefined }],
  ['names the reserved tenant', { tenant_id: '_genesis' }],
  ['has a number as tenant', { tenant_id: 7 }],
  ['has no role', { role: undefined }],
  ['has an unknown role', { role: 'root' }],
  ['names no user', { sub: undefined }],
  ['has a number as agent role', { agent_role: 7 }],
  ['has null as agent role', { agent_role: null }],
  ['has a list of agent roles', { agent_role: ['developer', 'architect'] }],
  ['has an object as agent role', { agent_role: { name: 'developer' } }],
  ['has an empty agent role', { agent_role: '' }],
  ['has an agent role of two lines', { agent_role: 'developer\narchitect' }],
  ['has an agent role of 65 characters', { agent_role: 'a'.repeat(65) }],
])('a token that %s is refused', async (_, claims) => {
  const { jwk, sign } = await newIssuer();
  const principal = await (await openVerifier(jwk))(await sign(claims as JWTPayload));
  expect(principal).toMatchObject({ problem: 'UNAUTHENTICATED' });
});

test('a token with the claim agent_role is limited to that agent role', async () => {
  const { jwk, sign } = await newIssuer();
  const principal = await (await openVerifier(jwk))(await sign({ agent_role: 'tdd_engineer' }));
  expect(principal).toMatchObject({ role: 'agent', agent_role: 'tdd_engineer' });
});

test('accepts an issuer whose clock is at most five seconds ahead, also at the full lifetime', async () => {
  const { jwk, sign } = await newIssuer();
  const verifyToken = await openVerifier(jwk, { max_lifetime_seconds: 900 }, () => NOW * 1000);
  const isRefused = async (iat: number, exp: number) =>
    isProblem(await verifyToken(await sign({ iat, exp })));
  expect(await isRefused(NOW + 5, NOW + 905)).toBe(false);
  expect(await isRefused(NOW + 6, NOW + 606)).toBe(true);
  expect(await isRefused(NOW, NOW + 901)).toBe(true);
});

test('refuses a token signed with another key, with a shared secret, or not at all', async () => {
  const ours = await newIssuer();
  const other = await newIssuer();
  const verify = async (token: string) => (await openVerifier(ours.jwk))(token);
  const jwtPart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { ...CLAIMS, iat: NOW, exp: NOW + 600 };
  const shared = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
    .sign(new TextEncoder().encode(JSON.stringify(ours.jwk).padEnd(32)));
  for (const token of [
    await other.sign(),
    shared,
    `${jwtPart({ alg: 'none' })}.${jwtPart(claims)}.`,
    'x.y.z',
    'x',
  ]) {
    expect(await verify(token)).toMatchObject({ problem: 'UNAUTHENTICATED' });
  }
});

test('refuses an algorithm that is not allowed, even if its key is in the set', async () => {
  const { jwk, sign } = await newIssuer('ES384');
  expect(await (await openVerifier(jwk))(await sign())).toMatchObject({ problem: 'UNAUTHENTICATED' });
});

test('reads tenant, role and user from the configured claims', async () => {
  const { jwk, sign } = await newIssuer();
  const names = { tenant_claim: 'org', role_claim: 'grp', user_claim: 'email', max_lifetime_seconds: 60 };
  const token = await sign({ org: 'other', grp: 'viewer', email: 'a@b.c', exp: NOW + 60 });
  expect(await (await openVerifier(jwk, names))(token)).toMatchObject({
    tenant_id: 'other',
    role: 'viewer',
    user_id: 'a@b.c',
  });
});

test('an operator without a tenant belongs to the platform, and a user name is escaped', async () => {
  const { jwk, sign } = await newIssuer();
  const token = await sign({ role: 'operator', tenant_id: undefined, sub: 'auth0|7~' });
  expect(await (await openVerifier(jwk))(token)).toMatchObject({
    tenant_id: null,
    user_id: 'auth0~007c7~007e',
  });
});

test('fetches a key set from a URL, and is unavailable while it cannot be reached', async () => {
  const { jwk, sign } = await newIssuer();
  const server = createServer((_, response) => response.end(JSON.stringify({ keys: [jwk] })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  const options = { jwks: url, issuer: CLAIMS.iss, audience: CLAIMS.aud };
  const token = await sign();
  expect(await (await openTokenVerifier(options))(token)).toMatchObject({ user_id: 'alice' });
  const verifyOffline = await openTokenVerifier(options);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await verifyOffline(token)).toMatchObject({ problem: 'UNAVAILABLE' });
});

test('refuses to start with a missing key set, or with one over plain http from another host', async () => {
  const options = { issuer: CLAIMS.iss, audience: CLAIMS.aud };
  await expect(openTokenVerifier({ ...options, jwks: 'http://login.example/jwks' })).rejects.toThrow(/https/);
  await expect(
    openTokenVerifier({ ...options, jwks: join(await newFolder(), 'none.json') }),
  ).rejects.toThrow();
});
