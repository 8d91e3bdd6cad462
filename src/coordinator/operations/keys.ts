import { isoTime, msOf } from '../../core/events/envelope.js';
import type { KeyRecord } from '../../core/events/record-events.js';
import { KEY_BINDING_SUBJECT, keySubject } from '../../core/subject.js';
import type { StoreMeta } from '../../stores/store.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Environment } from '../environment.js';
import { sha256Hex } from '../identity.js';
import { bindingOf } from '../key-binding.js';
import type { Attempt, Operation } from '../operation.js';
import { type Problem, problem } from '../problem.js';
import { UnitBuilder } from '../unit-builder.js';
import type { Key, KeyBody, KeyCreated } from '../wire.js';
import { requestOf } from './shared.js';

/** Whose keys are spoken of. `platform`: those of operators too, which belong to no tenant. */
export interface KeyScope {
  readonly tenant_id: string;
  readonly platform: boolean;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const byWhom = (caller: Caller): string => caller.user_id ?? caller.principal;
const ONCE =
  'The token was shown when the key was made, and is kept nowhere. Revoke this key and make another.';

/** Makes a key. Its token is told in the reply to whoever made it, and nowhere else. */
export class CreateKeyOperation implements Operation<KeyCreated | Problem> {
  readonly kind = 'create_key';
  readonly request;
  private readonly key_id: string;
  private readonly secret: string;

  constructor(
    private readonly scope: KeyScope,
    private readonly body: KeyBody,
    private readonly caller: Caller,
    private readonly meta: StoreMeta,
    environment: Environment,
  ) {
    this.request = requestOf(caller, 'create_key', { ...body, ...{ tenant_id: scope.tenant_id } });
    this.key_id = hex(environment.randomBytes(8));
    this.secret = base64url(environment.randomBytes(32));
  }

  attempt(desk: Desk): Attempt<KeyCreated | Problem> {
    const subject = keySubject(this.key_id);
    const unit = new UnitBuilder(desk, this.body.request_id ?? null);
    const record = this.record(desk.now_ms);
    if (record.expires_at !== null && msOf(record.expires_at) <= desk.now_ms) {
      return { unit: unit.build(this.request), reply: expiredAlready() };
    }
    unit.record(subject, null, [event('KEY_CREATED', record, byWhom(this.caller), desk.now_ms)]);
    // A log that begins with a bound key has none from before keys were bound.
    if (!hasKeys(desk)) requireBinding(unit, desk, this.caller);
    const key = keyOf(this.key_id, record, desk.now_ms, true);
    const token = `gck_live_${this.key_id}_${this.secret}`;
    // What is remembered for a repeat is written down, so it must not have the token in it.
    return { unit: unit.build(this.request, { ...key, token: null, next: ONCE }), reply: { ...key, token } };
  }

  replay(): KeyCreated {
    throw new Error('a key that was made is remembered with its reply');
  }

  private record(now_ms: number): KeyRecord {
    const { role, label = null, user_id = null, expires_in_seconds, expires_at } = this.body;
    const until_ms =
      expires_in_seconds === undefined
        ? expires_at === undefined
          ? null
          : Date.parse(expires_at)
        : now_ms + expires_in_seconds * 1000;
    const record: KeyRecord = {
      state: 'active',
      tenant_id: role === 'operator' ? null : this.scope.tenant_id,
      role,
      label,
      user_id,
      secret_sha256: sha256Hex(this.secret),
      last_four: this.secret.slice(-4),
      created_at: isoTime(now_ms),
      created_by: byWhom(this.caller),
      expires_at: until_ms === null ? null : isoTime(until_ms),
    };
    return { ...record, binding: bindingOf(this.meta, this.key_id, record) };
  }
}

/** Binds a key from before keys were bound. One that is bound, revoked or not there stays as it is. */
export class BindKeyOperation implements Operation<{ bound: boolean }> {
  readonly kind = 'bind_key';
  readonly request = null;

  constructor(
    private readonly key_id: string,
    private readonly caller: Caller,
    private readonly meta: StoreMeta,
  ) {}

  attempt(desk: Desk): Attempt<{ bound: boolean }> {
    const subject = keySubject(this.key_id);
    const unit = new UnitBuilder(desk);
    const known = desk.record(subject);
    const record = known?.value as KeyRecord | undefined;
    if (record?.state !== 'active' || record.binding !== undefined) {
      return { unit: unit.check(subject, known?.seq ?? 0).build(null), reply: { bound: false } };
    }
    const bound = { ...record, binding: bindingOf(this.meta, this.key_id, record) };
    unit.record(subject, known, [event('KEY_BOUND', bound, byWhom(this.caller), desk.now_ms)]);
    return { unit: unit.build(null), reply: { bound: true } };
  }

  replay(): { bound: boolean } {
    throw new Error('binding a key is idempotent from its record');
  }
}

/** From here on an unbound key of this log opens nothing. */
export class RequireBindingOperation implements Operation<{ required: true }> {
  readonly kind = 'require_key_binding';
  readonly request = null;

  constructor(private readonly caller: Caller) {}

  attempt(desk: Desk): Attempt<{ required: true }> {
    const unit = new UnitBuilder(desk);
    const known = desk.record(KEY_BINDING_SUBJECT);
    if (known === null) requireBinding(unit, desk, this.caller);
    else unit.check(KEY_BINDING_SUBJECT, known.seq);
    return { unit: unit.build(null), reply: { required: true } };
  }

  replay(): { required: true } {
    throw new Error('requiring bound keys is idempotent from its record');
  }
}

const KEY_PREFIX = keySubject('');

function hasKeys(desk: Desk): boolean {
  if (desk.record(KEY_BINDING_SUBJECT) !== null) return true;
  for (const subject of desk.state.records.keys()) if (subject.startsWith(KEY_PREFIX)) return true;
  return false;
}

function requireBinding(unit: UnitBuilder, desk: Desk, caller: Caller): void {
  const by = byWhom(caller);
  unit.record(KEY_BINDING_SUBJECT, null, [
    {
      event_type: 'KEY_BINDING_REQUIRED',
      timestamp: isoTime(desk.now_ms),
      agent_id: by,
      payload: { by, record: { required: true } },
    },
  ]);
}

/** Revoking twice is revoking once. A key of another tenant is not there. */
export class RevokeKeyOperation implements Operation<Key | Problem> {
  readonly kind = 'revoke_key';
  readonly request = null;

  constructor(
    private readonly scope: KeyScope,
    private readonly key_id: string,
    private readonly caller: Caller,
    private readonly isTrusted: IsTrustedKey,
  ) {}

  attempt(desk: Desk): Attempt<Key | Problem> {
    const subject = keySubject(this.key_id);
    const unit = new UnitBuilder(desk);
    const known = desk.record(subject);
    const record = known?.value as KeyRecord | undefined;
    if (record === undefined || !belongs(record, this.scope)) {
      return { unit: unit.check(subject, known?.seq ?? 0).build(null), reply: noKey() };
    }
    if (record.state === 'revoked') {
      const reply = this.shown(record, desk.now_ms);
      return { unit: unit.check(subject, known?.seq ?? 0).build(null), reply };
    }
    const revoked: KeyRecord = { ...record, state: 'revoked', revoked_at: isoTime(desk.now_ms) };
    unit.record(subject, known, [event('KEY_REVOKED', revoked, byWhom(this.caller), desk.now_ms)]);
    return { unit: unit.build(null), reply: this.shown(revoked, desk.now_ms) };
  }

  private shown(record: KeyRecord, now_ms: number): Key {
    return keyOf(this.key_id, record, now_ms, this.isTrusted(this.key_id, record));
  }

  replay(): Key {
    throw new Error('revoking a key is idempotent from its record');
  }
}

export const belongs = (record: KeyRecord, { tenant_id, platform }: KeyScope): boolean =>
  record.tenant_id === null ? platform : record.tenant_id === tenant_id;

/** Whether a record may grant anything in this store. */
export type IsTrustedKey = (key_id: string, record: KeyRecord) => boolean;

export function keyOf(key_id: string, record: KeyRecord, now_ms: number, isTrusted: boolean): Key {
  const { secret_sha256: _, binding: __, ...told } = record;
  const revoked_at = record.revoked_at ?? null;
  return { key_id, ...told, revoked_at, state: stateOf(record, now_ms, isTrusted) };
}

function stateOf({ state, expires_at }: KeyRecord, now_ms: number, isTrusted: boolean): Key['state'] {
  if (state === 'revoked') return 'revoked';
  if (expires_at !== null && msOf(expires_at) <= now_ms) return 'expired';
  return isTrusted ? 'active' : 'unbound';
}

export const noKey = (): Problem => problem('NOT_FOUND', 'There is no key by that id.');

function expiredAlready(): Problem {
  const message = 'expected a time to come';
  return problem('INVALID_REQUEST', `expires_at: ${message}`, [{ path: 'expires_at', message }]);
}

const event = (event_type: string, record: KeyRecord, by: string, now_ms: number) => ({
  event_type,
  timestamp: isoTime(now_ms),
  agent_id: by,
  payload: { by, record },
});
