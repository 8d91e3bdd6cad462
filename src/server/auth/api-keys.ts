import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeyRing } from '../../coordinator/index.js';
import type { Principal } from './principal.js';
import { type AuthRefusal, unauthenticated } from './refusal.js';

const TOKEN = /^gck_live_([0-9a-f]{16})_([\w-]{43})$/;
/** What an unknown key is compared with, so that it takes as long to refuse as a wrong one. */
const NO_DIGEST = Buffer.alloc(32);

const PREFIX = 'key-';

export const keyIdOf = ({ id }: Principal): string => id.slice(PREFIX.length);

export const isKeyToken = (token: string): boolean => token.startsWith('gck_');

/** Whose key it is. An unknown one, a wrong secret, a revoked, an expired and an unbound key are refused in the same words. */
export function findKey(keys: KeyRing, token: string): Principal | AuthRefusal {
  const [, key_id = '', secret = ''] = TOKEN.exec(token) ?? [];
  const found = keys.find(key_id);
  const isActive = found?.key.state === 'active';
  const expected = isActive ? Buffer.from(found.secret_sha256, 'hex') : NO_DIGEST;
  const same = timingSafeEqual(createHash('sha256').update(secret).digest(), expected);
  if (!isActive || !same) {
    return unauthenticated(
      'The key is not known here, has expired, was revoked, or was made in another store. Create a new one: gen key create.',
    );
  }
  const { tenant_id, role, user_id } = found.key;
  return { id: `${PREFIX}${key_id}`, kind: 'key', tenant_id, role, user_id };
}
