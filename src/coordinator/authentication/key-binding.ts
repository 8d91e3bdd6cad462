import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyRecord } from '../../core/events/record-events.js';
import type { StoreMeta } from '../../stores/store.js';

/**
 * Binds a key to the store that made it: an HMAC with the store's secret over everything the key grants. Records
 * travel with a repository and the secret does not, so a record written elsewhere or changed has no valid binding.
 */
export function bindingOf({ secret }: StoreMeta, keyId: string, record: KeyRecord): string {
  const { tenant_id, role, user_id, secret_sha256, created_at, expires_at, agent_role } = record;
  const boundFields = ['key', keyId, tenant_id, role, user_id, secret_sha256, created_at, expires_at];
  // Left out if the key has no agent role, so that bindings made before agent roles existed stay valid.
  if (agent_role !== undefined) boundFields.push(agent_role);
  return createHmac('sha256', Buffer.from(secret, 'hex')).update(JSON.stringify(boundFields)).digest('hex');
}

export function isBound(meta: StoreMeta, keyId: string, record: KeyRecord): boolean {
  // A record that came through git can have any shape.
  const actual = Buffer.from(String(record.binding));
  const expected = Buffer.from(bindingOf(meta, keyId, record));
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
