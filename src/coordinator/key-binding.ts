import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyRecord } from '../core/events/record-events.js';
import type { StoreMeta } from '../stores/store.js';

/**
 * The binding of a key to the store that made it: an HMAC with the store's secret over everything that the key grants.
 * Records travel (a workspace's log goes where its repository goes); the secret stays, so a record that was written
 * elsewhere, or changed, cannot have the right one.
 */
export function bindingOf({ secret }: StoreMeta, keyId: string, record: KeyRecord): string {
  const { tenant_id, role, user_id, secret_sha256, created_at, expires_at } = record;
  const granted = ['key', keyId, tenant_id, role, user_id, secret_sha256, created_at, expires_at];
  return createHmac('sha256', Buffer.from(secret, 'hex')).update(JSON.stringify(granted)).digest('hex');
}

export function isBound(meta: StoreMeta, keyId: string, record: KeyRecord): boolean {
  // What came by git has any shape at all.
  const given = Buffer.from(String(record.binding));
  const expected = Buffer.from(bindingOf(meta, keyId, record));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
