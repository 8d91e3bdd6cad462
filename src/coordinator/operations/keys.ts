import type { ApiKey, CreatedApiKey, KeyBody } from '../../core/contract/keys.js';
import { isoTime, msOf } from '../../core/events/envelope.js';
import type { KeyRecord } from '../../core/events/record-events.js';
import { KEY_BINDING_SUBJECT, keySubject } from '../../core/subject.js';
import type { StoreMeta } from '../../stores/store.js';
import type { Caller } from '../authentication/caller.js';
import { bindingOf } from '../authentication/key-binding.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Environment } from '../runtime/environment.js';
import { sha256Hex } from '../runtime/identity.js';
import { type Problem, problem } from '../wire/problem.js';
import { requestKeyOf } from './shared.js';

/** Which keys a call covers: the tenant's, and with `platform` also the operators' keys, which have no tenant. */
export interface KeyScope {
  readonly tenant_id: string;
  readonly platform: boolean;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const actorOfCaller = (caller: Caller): string => caller.user_id ?? caller.principal;
const TOKEN_SHOWN_ONCE =
  'The token was shown when the key was created and is not stored. Revoke this key and create another.';

/** Creates a key. Its token appears only in the reply to the creator. */
export class CreateKeyOperation implements Operation<CreatedApiKey | Problem> {
  readonly kind = 'create_key';
  readonly request;
  private readonly keyId: string;
  private readonly secret: string;

  constructor(
    private readonly scope: KeyScope,
    private readonly body: KeyBody,
    private readonly caller: Caller,
    private readonly meta: StoreMeta,
    environment: Environment,
  ) {
    this.request = requestKeyOf(caller, 'create_key', { ...body, ...{ tenant_id: scope.tenant_id } });
    this.keyId = hex(environment.randomBytes(8));
    this.secret = base64url(environment.randomBytes(32));
  }

  attempt(view: DecisionView): Attempt<CreatedApiKey | Problem> {
    const subject = keySubject(this.keyId);
    const transaction = new TransactionBuilder(view, this.body.request_id ?? null);
    const record = this.record(view.now_ms);
    if (record.expires_at !== null && msOf(record.expires_at) <= view.now_ms) {
      return { transaction: transaction.build(this.request), reply: alreadyExpiredProblem() };
    }
    transaction.putRecord(subject, null, [
      keyEvent('KEY_CREATED', record, actorOfCaller(this.caller), view.now_ms),
    ]);
    // A log whose first key is bound has no legacy keys, so unbound ones can be refused from the start.
    if (!hasKeys(view)) requireBinding(transaction, view, this.caller);
    const key = apiKeyOf(this.keyId, record, view.now_ms, true);
    const token = `gck_live_${this.keyId}_${this.secret}`;
    // The remembered reply is stored, so it must not contain the token.
    return {
      transaction: transaction.build(this.request, { ...key, token: null, next: TOKEN_SHOWN_ONCE }),
      reply: { ...key, token },
    };
  }

  replay(): CreatedApiKey {
    throw new Error('the stored request of a key creation contains its reply');
  }

  private record(nowMs: number): KeyRecord {
    const { role, label = null, user_id = null, expires_in_seconds, expires_at } = this.body;
    const untilMs =
      expires_in_seconds === undefined
        ? expires_at === undefined
          ? null
          : Date.parse(expires_at)
        : nowMs + expires_in_seconds * 1000;
    const record: KeyRecord = {
      state: 'active',
      tenant_id: role === 'operator' ? null : this.scope.tenant_id,
      role,
      label,
      user_id,
      secret_sha256: sha256Hex(this.secret),
      last_four: this.secret.slice(-4),
      created_at: isoTime(nowMs),
      created_by: actorOfCaller(this.caller),
      expires_at: untilMs === null ? null : isoTime(untilMs),
    };
    return { ...record, binding: bindingOf(this.meta, this.keyId, record) };
  }
}

/** Binds a key from before key binding. A bound, revoked or missing key stays as it is. */
export class BindKeyOperation implements Operation<{ bound: boolean }> {
  readonly kind = 'bind_key';
  readonly request = null;

  constructor(
    private readonly keyId: string,
    private readonly caller: Caller,
    private readonly meta: StoreMeta,
  ) {}

  attempt(view: DecisionView): Attempt<{ bound: boolean }> {
    const subject = keySubject(this.keyId);
    const transaction = new TransactionBuilder(view);
    const existing = view.record(subject);
    const record = existing?.value as KeyRecord | undefined;
    if (record?.state !== 'active' || record.binding !== undefined) {
      return {
        transaction: transaction.check(subject, existing?.seq ?? 0).build(null),
        reply: { bound: false },
      };
    }
    const bound = { ...record, binding: bindingOf(this.meta, this.keyId, record) };
    transaction.putRecord(subject, existing, [
      keyEvent('KEY_BOUND', bound, actorOfCaller(this.caller), view.now_ms),
    ]);
    return { transaction: transaction.build(null), reply: { bound: true } };
  }

  replay(): { bound: boolean } {
    throw new Error('binding a key is idempotent and stores no request');
  }
}

/** Makes all unbound keys of this log invalid from now on. */
export class RequireBindingOperation implements Operation<{ required: true }> {
  readonly kind = 'require_key_binding';
  readonly request = null;

  constructor(private readonly caller: Caller) {}

  attempt(view: DecisionView): Attempt<{ required: true }> {
    const transaction = new TransactionBuilder(view);
    const existing = view.record(KEY_BINDING_SUBJECT);
    if (existing === null) requireBinding(transaction, view, this.caller);
    else transaction.check(KEY_BINDING_SUBJECT, existing.seq);
    return { transaction: transaction.build(null), reply: { required: true } };
  }

  replay(): { required: true } {
    throw new Error('requiring bound keys is idempotent and stores no request');
  }
}

const KEY_PREFIX = keySubject('');

function hasKeys(view: DecisionView): boolean {
  if (view.record(KEY_BINDING_SUBJECT) !== null) return true;
  for (const subject of view.state.records.keys()) if (subject.startsWith(KEY_PREFIX)) return true;
  return false;
}

function requireBinding(transaction: TransactionBuilder, view: DecisionView, caller: Caller): void {
  const by = actorOfCaller(caller);
  transaction.putRecord(KEY_BINDING_SUBJECT, null, [
    {
      event_type: 'KEY_BINDING_REQUIRED',
      timestamp: isoTime(view.now_ms),
      agent_id: by,
      payload: { by, record: { required: true } },
    },
  ]);
}

/** Revokes a key. Idempotent; another tenant's key counts as not found. */
export class RevokeKeyOperation implements Operation<ApiKey | Problem> {
  readonly kind = 'revoke_key';
  readonly request = null;

  constructor(
    private readonly scope: KeyScope,
    private readonly keyId: string,
    private readonly caller: Caller,
    private readonly isTrusted: KeyTrustCheck,
  ) {}

  attempt(view: DecisionView): Attempt<ApiKey | Problem> {
    const subject = keySubject(this.keyId);
    const transaction = new TransactionBuilder(view);
    const existing = view.record(subject);
    const record = existing?.value as KeyRecord | undefined;
    if (record === undefined || !isInScope(record, this.scope)) {
      return {
        transaction: transaction.check(subject, existing?.seq ?? 0).build(null),
        reply: unknownKeyProblem(),
      };
    }
    if (record.state === 'revoked') {
      const reply = this.toApiKey(record, view.now_ms);
      return { transaction: transaction.check(subject, existing?.seq ?? 0).build(null), reply };
    }
    const revoked: KeyRecord = { ...record, state: 'revoked', revoked_at: isoTime(view.now_ms) };
    transaction.putRecord(subject, existing, [
      keyEvent('KEY_REVOKED', revoked, actorOfCaller(this.caller), view.now_ms),
    ]);
    return { transaction: transaction.build(null), reply: this.toApiKey(revoked, view.now_ms) };
  }

  private toApiKey(record: KeyRecord, nowMs: number): ApiKey {
    return apiKeyOf(this.keyId, record, nowMs, this.isTrusted(this.keyId, record));
  }

  replay(): ApiKey {
    throw new Error('revoking a key is idempotent and stores no request');
  }
}

export const isInScope = (record: KeyRecord, { tenant_id, platform }: KeyScope): boolean =>
  record.tenant_id === null ? platform : record.tenant_id === tenant_id;

/** Whether a record may grant anything in this store. */
export type KeyTrustCheck = (keyId: string, record: KeyRecord) => boolean;

export function apiKeyOf(key_id: string, record: KeyRecord, nowMs: number, isTrusted: boolean): ApiKey {
  const { secret_sha256: _, binding: __, ...publicFields } = record;
  const revoked_at = record.revoked_at ?? null;
  return { key_id, ...publicFields, revoked_at, state: keyStateOf(record, nowMs, isTrusted) };
}

function keyStateOf({ state, expires_at }: KeyRecord, nowMs: number, isTrusted: boolean): ApiKey['state'] {
  if (state === 'revoked') return 'revoked';
  if (expires_at !== null && msOf(expires_at) <= nowMs) return 'expired';
  return isTrusted ? 'active' : 'unbound';
}

export const unknownKeyProblem = (): Problem =>
  problem('NOT_FOUND', 'There is no key with that id. List the keys: gen key list.');

function alreadyExpiredProblem(): Problem {
  const message = 'expected a time in the future';
  return problem('INVALID_REQUEST', `expires_at: ${message}`, [{ path: 'expires_at', message }]);
}

const keyEvent = (event_type: string, record: KeyRecord, by: string, nowMs: number) => ({
  event_type,
  timestamp: isoTime(nowMs),
  agent_id: by,
  payload: { by, record },
});
