import type { EventEnvelope } from '../events/envelope.js';
import { type HashBytes, keyIdOf, type VerifySignature } from './audit-values.js';
import {
  KEY_ENROLLED_EVENT,
  KEY_REVOKED_EVENT,
  type KeyEnrolled,
  keyEnrolledPayload,
  keyRevokedPayload,
  rotationText,
} from './key-events.js';

/** Stable codes of the faults that an audit finds in a log. */
export type AuditFaultCode =
  | 'MALFORMED'
  | 'BAD_POSITION'
  | 'KEY_ID_MISMATCH'
  | 'NOT_FIRST'
  | 'UNKNOWN_KEY'
  | 'REVOKED_KEY'
  | 'BAD_SIGNATURE'
  | 'WRONG_INCARNATION'
  | 'ROOT_DIFFERS'
  | 'BAD_SUBTREES'
  | 'BAD_TILES'
  | 'TWO_ROOTS'
  | 'REPLAYED'
  | 'UNSIGNED_RECORD'
  | 'UNTRUSTED_KEY';

export interface AuditFault {
  readonly code: AuditFaultCode;
  /** The position of the event with the fault; if two anchors contradict each other, the position that they cover. */
  readonly position: number;
  /** The fault as a sentence for a person. */
  readonly detail: string;
}

export const AUDIT_KEY_STATES = ['active', 'rotated', 'revoked'] as const;

interface EnrolledKey {
  readonly public_key: string;
  /** How the key was enrolled. */
  readonly how: KeyEnrolled['how'];
  state: (typeof AUDIT_KEY_STATES)[number];
}

/** A key of a project, and whether its new signatures are valid. */
interface ProjectAuditKey extends Readonly<EnrolledKey> {
  readonly key_id: string;
}

/** A fault without its position. */
export type FaultWithoutPosition = Omit<AuditFault, 'position'>;

/**
 * The keys of a project, from the events of its log. An event with a fault has no effect.
 *
 * Anyone who can write to the log can enrol a key, so a `first` enrolment does not make a key trusted. It is allowed beside
 * active keys, because each coordinator of a store signs with its own key. It is refused once every key has ended: then an
 * administrator, whom the log names, must replace a key. Trust comes from outside the log, by the id of a key.
 */
export class AuditKeys {
  private readonly keys = new Map<string, EnrolledKey>();

  constructor(
    private readonly hash: HashBytes,
    private readonly verify: VerifySignature,
  ) {}

  /** Applies an event that is about keys, and ignores others. */
  apply(event: EventEnvelope): AuditFault | null {
    const refusal = this.refusalOf(event);
    return refusal === null ? null : { ...refusal, position: event.position };
  }

  isActive(keyId: string): boolean {
    return this.keys.get(keyId)?.state === 'active';
  }

  /** Every key that was ever enrolled, in the order of enrolment. */
  list(): ProjectAuditKey[] {
    return [...this.keys].map(([key_id, key]) => ({ key_id, ...key }));
  }

  /** Whether no key was ever enrolled. */
  get isEmpty(): boolean {
    return this.keys.size === 0;
  }

  /** Whether keys were enrolled but none is active any more: only an administrator can then enrol another one. */
  get hasOnlyInactiveKeys(): boolean {
    return this.keys.size > 0 && [...this.keys.values()].every(({ state }) => state !== 'active');
  }

  /**
   * The public key of an enrolled key; null if it was never enrolled. A key that has ended is also returned, because the
   * signatures that it made before stay valid.
   */
  publicKeyOf(keyId: string): string | null {
    return this.keys.get(keyId)?.public_key ?? null;
  }

  /** Why a signature of this key does not count now; null if it does. */
  inactiveFault(keyId: string): FaultWithoutPosition | null {
    const state = this.keys.get(keyId)?.state;
    if (state === 'active') return null;
    if (state === undefined) return { code: 'UNKNOWN_KEY', detail: `the key ${keyId} is not enrolled` };
    return { code: 'REVOKED_KEY', detail: `the key ${keyId} was already ${state}` };
  }

  private refusalOf(event: EventEnvelope): FaultWithoutPosition | null {
    if (event.event_type === KEY_ENROLLED_EVENT) return this.enrol(event);
    if (event.event_type === KEY_REVOKED_EVENT) return this.revoke(event);
    return null;
  }

  private enrol(event: EventEnvelope): FaultWithoutPosition | null {
    const parsed = keyEnrolledPayload.safeParse(event.payload);
    if (!parsed.success) return { code: 'MALFORMED', detail: parsed.error.issues[0]?.message ?? '' };
    const key = parsed.data;
    if (keyIdOf(this.hash, key.public_key) !== key.key_id) {
      return { code: 'KEY_ID_MISMATCH', detail: `${key.key_id} is not the id of the public key` };
    }
    const enrolledKey = this.keys.get(key.key_id);
    if (enrolledKey !== undefined && enrolledKey.state !== 'active') return this.inactiveFault(key.key_id);
    const refusal = this.enrolmentRefusal(event, key);
    if (refusal !== null) return refusal;
    // If a key names itself as its previous key, the call of `set` makes it active again.
    if (key.how === 'rotated') this.keys.get(key.previous_key_id)!.state = 'rotated';
    this.keys.set(key.key_id, { public_key: key.public_key, how: key.how, state: 'active' });
    return null;
  }

  private enrolmentRefusal(event: EventEnvelope, key: KeyEnrolled): FaultWithoutPosition | null {
    if (key.how === 'replaced') return null;
    if (key.how === 'first') {
      return this.hasOnlyInactiveKeys
        ? {
            code: 'NOT_FIRST',
            detail: 'every key of the project has ended: an administrator must replace one',
          }
        : null;
    }
    const inactiveFault = this.inactiveFault(key.previous_key_id);
    if (inactiveFault !== null) return inactiveFault;
    const text = rotationText(event, key);
    return this.verify(this.publicKeyOf(key.previous_key_id)!, text, key.signature)
      ? null
      : { code: 'BAD_SIGNATURE', detail: `${key.previous_key_id} did not sign the key ${key.key_id}` };
  }

  private revoke({ payload }: EventEnvelope): FaultWithoutPosition | null {
    const parsed = keyRevokedPayload.safeParse(payload);
    if (!parsed.success) return { code: 'MALFORMED', detail: parsed.error.issues[0]?.message ?? '' };
    const key = this.keys.get(parsed.data.key_id);
    if (key === undefined)
      return { code: 'UNKNOWN_KEY', detail: `the key ${parsed.data.key_id} is not enrolled` };
    key.state = 'revoked';
    return null;
  }
}
