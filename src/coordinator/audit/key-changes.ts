import type { AuditKeys } from '../../core/audit/audit-keys.js';
import {
  KEY_ENROLLED_EVENT,
  KEY_REVOKED_EVENT,
  type KeyEnrolled,
  type KeyRevoked,
} from '../../core/audit/key-events.js';
import type { AuditKeyBody, AuditKeyResult } from '../../core/contract/audit.js';
import { type AuditKeyRefusal, type AuditKeySuccess, adviceFor } from '../../core/contract/codes.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { operationOf, requestKeyOf } from '../operations/shared.js';
import type { Operation } from '../queue/operation.js';
import type { TransactionBuilder } from '../queue/transaction-builder.js';
import { noActiveKeyText } from './enrolment.js';
import { addAuditEvent, enrolmentIdParts } from './record-checkpoint.js';
import type { AuditSigner } from './signer.js';

export type KeyVerb = 'replace' | 'revoke';

/** The change that an administrator requests, with the facts that decide it. */
interface KeyChangeRequest {
  /** The keys of the project, as its log has them. */
  readonly keys: AuditKeys;
  /** Null on a server that signs nothing. */
  readonly signer: AuditSigner | null;
  readonly verb: KeyVerb;
  readonly body: AuditKeyBody;
  readonly caller: Caller;
}

/** The decision without the list of keys, which is added to each reply: a repeated request shows the current keys. */
type KeyChangeDecision =
  | { readonly success: true; readonly reason: AuditKeySuccess }
  | { readonly success: false; readonly reason: AuditKeyRefusal };

/**
 * Replaces or revokes a key. The rules are checked inside the operation, so that a repeated request gets its first
 * reply again, and not `AUDIT_KEY_ENDED`.
 */
export function keyChange(request: KeyChangeRequest): Operation<KeyChangeDecision> {
  const { verb, body, caller } = request;
  const kind = `audit_${verb}_key`;
  const decide = (transaction: TransactionBuilder): KeyChangeDecision => {
    const reason = verb === 'replace' ? replaceRefusal(request) : revokeRefusal(request);
    if (reason !== null) return { success: false, reason };
    addKeyEvents(transaction, request);
    return { success: true, reason: verb === 'replace' ? 'REPLACED' : 'REVOKED' };
  };
  return operationOf(kind, requestKeyOf(caller, kind, body), decide, body.request_id);
}

/** The reply, with advice about the next step of the caller. */
export function keyChangeReply(decision: KeyChangeDecision, keys: AuditKeys): AuditKeyResult {
  const list = keys.list();
  if (decision.success)
    return { ...decision, keys: list, ...(keys.hasOnlyInactiveKeys ? { next: noActiveKeyText(keys) } : {}) };
  const advice = adviceFor(decision.reason);
  const keyIds = list.map(({ key_id }) => key_id).join(', ');
  const isUnknown = decision.reason === 'UNKNOWN_AUDIT_KEY';
  const next = isUnknown ? `${advice} Known: ${keyIds === '' ? 'none' : keyIds}.` : advice;
  return { ...decision, keys: list, next };
}

function revokeRefusal({ keys, body }: KeyChangeRequest): AuditKeyRefusal | null {
  if (keys.publicKeyOf(body.key_id) === null) return 'UNKNOWN_AUDIT_KEY';
  return keys.isActive(body.key_id) ? null : 'AUDIT_KEY_ENDED';
}

/**
 * Why the key cannot be replaced; null if it can. An administrator may revoke a key first and replace it later: a revoked
 * key can be replaced until this coordinator's own key is active.
 */
function replaceRefusal({ keys, signer, body }: KeyChangeRequest): AuditKeyRefusal | null {
  if (signer === null) return 'NO_AUDIT_KEY';
  if (keys.publicKeyOf(body.key_id) === null) return 'UNKNOWN_AUDIT_KEY';
  const isEnrolled = keys.publicKeyOf(signer.key_id) !== null;
  const isActive = keys.isActive(signer.key_id);
  if (body.key_id === signer.key_id || (isEnrolled && !isActive)) return 'AUDIT_KEY_NOT_NEW';
  return isActive && !keys.isActive(body.key_id) ? 'AUDIT_KEY_ENDED' : null;
}

function addKeyEvents(
  transaction: TransactionBuilder,
  { keys, signer, verb, body, caller }: KeyChangeRequest,
): void {
  const by = actorOf(caller);
  const { key_id, reason } = body;
  if (keys.isActive(key_id)) {
    const revoked: KeyRevoked = { key_id, by, reason };
    addAuditEvent(transaction, by, KEY_REVOKED_EVENT, [key_id], revoked);
  }
  if (verb === 'revoke' || signer === null) return;
  const { key_id: newKeyId, public_key } = signer;
  const enrolled: KeyEnrolled = { key_id: newKeyId, public_key, how: 'replaced', by, reason };
  addAuditEvent(transaction, by, KEY_ENROLLED_EVENT, enrolmentIdParts(enrolled), enrolled);
}
