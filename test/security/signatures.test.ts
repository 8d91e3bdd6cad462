/**
 * Who: someone who saw a signed command or a token, and can send it again, or submit it as evidence, in another
 * spelling.
 *
 * What they want: several texts that verify as one signature, so that a list of seen, revoked or recorded signatures
 * does not recognize it. 64 bytes in base64url leave four bits of the last character unused; a decoder ignores them, so
 * every signature has sixteen spellings.
 *
 * What stops them: a signature, a public key and each part of a token are accepted only in their one canonical spelling
 * (`src/core/base64url.ts`).
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { publicKeyText, signCommand } from '../../src/client/sign-command.js';
import { isPublicKey } from '../../src/coordinator/authentication/public-key.js';
import { openTokenVerifier } from '../../src/server/auth/jwt.js';
import { CoordinatorHarness, PROJECT_KEY, planOf } from '../support/coordinator-harness.js';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Every other text that decodes to the same bytes. */
function otherSpellings(text: string): string[] {
  const bytes = Buffer.from(text, 'base64url');
  const texts = [...ALPHABET].map((last) => text.slice(0, -1) + last);
  const same = texts.filter((other) => other !== text && Buffer.from(other, 'base64url').equals(bytes));
  return [...same, `${text}=`, `${text}==`];
}

const A = 'A-001-core';
const { publicKey, privateKey } = generateKeyPairSync('ed25519');

test('a signed command is accepted in canonical base64url only, not in other spellings of the same bytes', async () => {
  const harness = await CoordinatorHarness.open('memory');
  await harness.plan(planOf(A));
  const { coordinator } = harness;
  const session = { session_id: 's1', user_id: 'alice', project_id: 'shop' };
  await coordinator.sessions.open('acme', { ...session, public_key: publicKeyText(publicKey) });
  await coordinator.settings.putLimits('acme', { require_signatures: true });
  const body = { task_id: A, agent_id: 'alpha', session_id: 's1', request_id: 'r1' };
  const now = new Date(harness.environment.clock.wallMs());
  const signature = signCommand({ ...PROJECT_KEY, command: 'claim_task', body }, privateKey, now);
  const cut = signature.lastIndexOf(';') + 1;
  const others = otherSpellings(signature.slice(cut));
  expect(others).toHaveLength(17);
  for (const other of others) {
    const spelled = { ...body, signature: signature.slice(0, cut) + other };
    expect(await coordinator.claims.claimTask(PROJECT_KEY, spelled)).toMatchObject({
      problem: 'SIGNATURE_INVALID',
    });
  }
  expect(await coordinator.claims.claimTask(PROJECT_KEY, { ...body, signature })).toMatchObject({
    reason: 'GRANTED',
  });
});

test('a public key is accepted in canonical base64url only', () => {
  const key = publicKeyText(publicKey);
  expect(isPublicKey(key)).toBe(true);
  const others = otherSpellings(key);
  expect(others.length).toBeGreaterThan(3);
  for (const other of others) expect(isPublicKey(other)).toBe(false);
});

test('a token is accepted in canonical base64url only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'jwks-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const jwks = join(folder, 'jwks.json');
  const key = { ...publicKey.export({ format: 'jwk' }), alg: 'EdDSA', kid: 'k' };
  await writeFile(jwks, JSON.stringify({ keys: [key] }));
  const reader = await openTokenVerifier({ jwks, issuer: 'us', audience: 'fleet' });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    iss: 'us',
    aud: 'fleet',
    sub: 'alice',
    tenant_id: 'acme',
    role: 'agent',
    iat,
    exp: iat + 600,
  };
  const signed = `${part({ alg: 'EdDSA', kid: 'k' })}.${part(claims)}`;
  const signature = sign(null, Buffer.from(signed), privateKey).toString('base64url');
  expect(await reader(`${signed}.${signature}`)).toMatchObject({ kind: 'jwt', user_id: 'alice' });
  for (const other of otherSpellings(signature)) {
    expect(await reader(`${signed}.${other}`)).toMatchObject({ problem: 'UNAUTHENTICATED' });
  }
});
