import type { ApiKey, CreatedApiKey, KeyBody } from '../../core/contract/keys.js';
import { isoTime, msOf } from '../../core/events/envelope.js';
import type { KeyRecord } from '../../core/events/record-events.js';
import { KEY_BINDING_SUBJECT, keySubject } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { StoreMeta } from '../../stores/store.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { bindingOf } from '../authentication/key-binding.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Environment } from '../runtime/environment.js';
import { sha256Hex } from '../runtime/identity.js';
import { fieldProblem, type Problem, problem } from '../wire/problem.js';
import { operationOf, requestKeyOf } from './shared.js';

/** Which keys a call covers: the tenant's, and with `platform` also the operators' keys, which have no tenant. */
export interface KeyScope {
  readonly tenant_id: string;
  readonly platform: boolean;
}

const randomHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const randomBase64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const TOKEN_SHOWN_ONCE =
  'The token was shown when the key was created and is not stored. Revoke this key and create another.';

/** Creates a key. Its token appears only in the reply to the creator. */
export function createKey(
  scope: KeyScope,
  body: KeyBody,
  caller: Caller,
  meta: StoreMeta,
  environment: Environment,
): Operation<CreatedApiKey | Problem> {
  const requestKey = requestKeyOf(caller, 'create_key', { ...body, ...{ tenant_id: scope.tenant_id } });
  const keyId = randomHex(environment.randomBytes(8));
  const secret = randomBase64url(environment.randomBytes(32));
  return {
    kind: 'create_key',
    requestKey,
    attempt(view) {
      const transaction = new TransactionBuilder(view, body.request_id);
      const record = newKeyRecord(body, scope, secret, actorOf(caller), view.now_ms);
      if (record.expires_at !== null && msOf(record.expires_at) <= view.now_ms) {
        return transaction.answer(requestKey, fieldProblem('expires_at', 'expected a time in the future'));
      }
      const bound = { ...record, binding: bindingOf(meta, keyId, record) };
      transaction.writeRecord(keySubject(keyId), 'KEY_CREATED', bound, actorOf(caller));
      // A log whose first key is bound has no legacy keys, so unbound ones can be refused from the start.
      if (!hasKeys(view)) requireBinding(transaction, caller);
      const key = apiKeyOf(keyId, bound, view.now_ms, true);
      // The remembered reply is stored, so it must not contain the token.
      return {
        transaction: transaction.build(requestKey, { ...key, token: null, next: TOKEN_SHOWN_ONCE }),
        reply: { ...key, token: `gck_live_${keyId}_${secret}` },
      };
    },
  };
}

function newKeyRecord(body: KeyBody, scope: KeyScope, secret: string, by: string, nowMs: number): KeyRecord {
  const { role, label = null, user_id = null, agent_role } = body;
  const untilMs = expiryMs(body, nowMs);
  return {
    state: 'active',
    tenant_id: role === 'operator' ? null : scope.tenant_id,
    role,
    label,
    user_id,
    ...withoutUndefined({ agent_role }),
    secret_sha256: sha256Hex(secret),
    last_four: secret.slice(-4),
    created_at: isoTime(nowMs),
    created_by: by,
    expires_at: untilMs === null ? null : isoTime(untilMs),
  };
}

function expiryMs({ expires_in_seconds, expires_at }: KeyBody, nowMs: number): number | null {
  if (expires_in_seconds !== undefined) return nowMs + expires_in_seconds * 1000;
  return expires_at === undefined ? null : Date.parse(expires_at);
}

/**
 * Binds a key that was made before keys were bound to their store (see `bindingOf`). A bound, revoked or missing key stays as
 * it is.
 */
export const bindKey = (keyId: string, caller: Caller, meta: StoreMeta): Operation<{ bound: boolean }> =>
  operationOf('bind_key', null, (transaction) => {
    const subject = keySubject(keyId);
    const record = transaction.checkRecord(subject).view.record(subject)?.value as KeyRecord | undefined;
    if (record?.state !== 'active' || record.binding !== undefined) return { bound: false };
    const bound = { ...record, binding: bindingOf(meta, keyId, record) };
    transaction.writeRecord(subject, 'KEY_BOUND', bound, actorOf(caller));
    return { bound: true };
  });

/** Makes all unbound keys of this log invalid from now on. */
export const requireBoundKeys = (caller: Caller): Operation<{ required: true }> =>
  operationOf('require_key_binding', null, (transaction) => {
    if (transaction.view.record(KEY_BINDING_SUBJECT) === null) requireBinding(transaction, caller);
    else transaction.checkRecord(KEY_BINDING_SUBJECT);
    return { required: true };
  });

export const KEY_SUBJECT_PREFIX = keySubject('');

function hasKeys(view: DecisionView): boolean {
  if (view.record(KEY_BINDING_SUBJECT) !== null) return true;
  for (const subject of view.state.records.keys()) if (subject.startsWith(KEY_SUBJECT_PREFIX)) return true;
  return false;
}

const requireBinding = (transaction: TransactionBuilder, caller: Caller): TransactionBuilder =>
  transaction.writeRecord(KEY_BINDING_SUBJECT, 'KEY_BINDING_REQUIRED', { required: true }, actorOf(caller));

/** Revokes a key. Idempotent; another tenant's key counts as not found. */
export const revokeKey = (
  scope: KeyScope,
  keyId: string,
  caller: Caller,
  isTrusted: KeyTrustCheck,
): Operation<ApiKey | Problem> =>
  operationOf('revoke_key', null, (transaction) => {
    const { view } = transaction;
    const subject = keySubject(keyId);
    const record = transaction.checkRecord(subject).view.record(subject)?.value as KeyRecord | undefined;
    const toApiKey = (shown: KeyRecord) => apiKeyOf(keyId, shown, view.now_ms, isTrusted(keyId, shown));
    if (record === undefined || !isInScope(record, scope)) return unknownKeyProblem();
    if (record.state === 'revoked') return toApiKey(record);
    const revoked: KeyRecord = { ...record, state: 'revoked', revoked_at: isoTime(view.now_ms) };
    transaction.writeRecord(subject, 'KEY_REVOKED', revoked, actorOf(caller));
    return toApiKey(revoked);
  });

export const isInScope = (record: KeyRecord, { tenant_id, platform }: KeyScope): boolean =>
  record.tenant_id === null ? platform : record.tenant_id === tenant_id;

/** Whether a record may grant anything in this store. */
export type KeyTrustCheck = (keyId: string, record: KeyRecord) => boolean;

export function apiKeyOf(key_id: string, record: KeyRecord, nowMs: number, isTrusted: boolean): ApiKey {
  const { secret_sha256: _, binding: __, ...publicFields } = record;
  const { revoked_at = null, agent_role = null } = record;
  return { key_id, ...publicFields, agent_role, revoked_at, state: keyStateOf(record, nowMs, isTrusted) };
}

function keyStateOf({ state, expires_at }: KeyRecord, nowMs: number, isTrusted: boolean): ApiKey['state'] {
  if (state === 'revoked') return 'revoked';
  if (expires_at !== null && msOf(expires_at) <= nowMs) return 'expired';
  return isTrusted ? 'active' : 'unbound';
}

export const unknownKeyProblem = (): Problem =>
  problem('NOT_FOUND', 'There is no key with that id. List the keys: gen key list.');
