import { createHash, randomBytes } from 'node:crypto';
import type { KeyRecord } from '../../../src/core/events/record-events.js';
import { evolveRecord } from '../../../src/core/record.js';
import { keySubject, PLATFORM_TENANT, TENANT_PROJECT } from '../../../src/core/subject.js';
import type { Store } from '../../../src/stores/store.js';
import { transactionOf } from '../../../src/stores/transaction.js';

export const KEY_LOG = { tenant_id: PLATFORM_TENANT, project_id: TENANT_PROJECT };

/** Writes a key record without a binding, as versions before keys were bound did. Returns its token. */
export async function writeUnboundKey(store: Store, more: Partial<KeyRecord> = {}): Promise<string> {
  const [keyId, secret] = [randomBytes(8).toString('hex'), randomBytes(32).toString('base64url')];
  const timestamp = new Date(await store.now()).toISOString();
  const record: KeyRecord = {
    state: 'active',
    tenant_id: 'default',
    role: 'admin',
    label: null,
    user_id: null,
    secret_sha256: createHash('sha256').update(secret).digest('hex'),
    last_four: secret.slice(-4),
    created_at: timestamp,
    created_by: 'open',
    expires_at: null,
    ...more,
  };
  const event = {
    ...KEY_LOG,
    event_id: crypto.randomUUID(),
    event_type: 'KEY_CREATED',
    timestamp,
    subject: keySubject(keyId),
    seq: 1,
    agent_id: 'open',
    payload: { by: 'open', record },
  };
  const swap = { subject: event.subject, expected_seq: 0, head: evolveRecord(null, event), events: [event] };
  const [outcome] = await store.commit([transactionOf(KEY_LOG, { swaps: [swap] })]);
  if (outcome?.kind !== 'committed') throw new Error(`The key was not written: ${outcome?.kind}`);
  return `gck_live_${keyId}_${secret}`;
}
