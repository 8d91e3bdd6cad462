import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeyRing, Problem } from '../../coordinator/index.js';
import { type Principal, unauthenticated } from './principal.js';

const KEY_TOKEN_PATTERN = /^gck_live_([0-9a-f]{16})_([\w-]{43})$/;
/** Compared with the secret of an unknown key, so that refusing it takes as long as refusing a wrong secret. */
const PLACEHOLDER_DIGEST = Buffer.alloc(32);

const KEY_PRINCIPAL_PREFIX = 'key-';

export const apiKeyIdOf = ({ id }: Principal): string => id.slice(KEY_PRINCIPAL_PREFIX.length);

export const isKeyToken = (token: string): boolean => token.startsWith('gck_');

/** The key's principal. Keys that are unknown, wrong, revoked, expired or of another store get the same refusal. */
export function authenticateKey(keys: KeyRing, token: string): Principal | Problem {
  const [, keyId = '', secret = ''] = KEY_TOKEN_PATTERN.exec(token) ?? [];
  const entry = keys.find(keyId);
  const isActive = entry?.key.state === 'active';
  const expected = isActive ? Buffer.from(entry.secret_sha256, 'hex') : PLACEHOLDER_DIGEST;
  const isSecretEqual = timingSafeEqual(createHash('sha256').update(secret).digest(), expected);
  if (!isActive || !isSecretEqual) {
    return unauthenticated(
      'The key is unknown, expired, revoked, or from another store. Create a new one: gen key create.',
    );
  }
  const { tenant_id, role, user_id, agent_role, label } = entry.key;
  const name = user_id ?? label ?? keyId;
  return { id: `${KEY_PRINCIPAL_PREFIX}${keyId}`, kind: 'key', tenant_id, role, name, user_id, agent_role };
}
