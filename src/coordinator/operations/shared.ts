import type { Decision } from '../../core/claims/commands.js';
import type { Head } from '../../core/claims/head.js';
import { needsPermit, permitHeldUntilMs } from '../../core/claims/lease.js';
import { maxAgentsIn } from '../../core/plan/index.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { PushedEvent } from '../queue/offline-event.js';
import type { Operation, RequestKey } from '../queue/operation.js';
import { SESSIONS_SCOPE, trackScope } from '../queue/permit-limits.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import { textDigest } from '../runtime/identity.js';
import { isSessionClosed } from './facts.js';
import { pushedRequestKey } from './pushed.js';

/** Optional fields that many commands have. */
export interface RequestFields {
  readonly request_id?: string | undefined;
  readonly signature?: string | undefined;
  /** The text that was signed. The coordinator adds it. */
  readonly signed_text?: string | undefined;
  /** Present only in commands that can be pushed. */
  readonly offline?: PushedEvent | undefined;
}

/**
 * The key that a request is remembered under, and the digest of its content; null for a request without an id.
 * `operation` is the command's name, or the subject of a claim; the two cannot collide. The signature is excluded: a
 * request that is signed again stays the same request.
 */
export function requestKeyOf(caller: Caller, operation: string, body: RequestFields): RequestKey | null {
  const { request_id, offline } = body;
  if (request_id === undefined && offline?.event_id === undefined) return null;
  const { signature: _, signed_text: __, ...content } = body;
  const text = JSON.stringify([operation, content]);
  if (offline?.event_id !== undefined) return pushedRequestKey(caller, offline.event_id, text);
  return requestKeyFromText(caller, request_id as string, text);
}

/** The key of a request. `text` contains all that distinguishes it from another request with the same id. */
export const requestKeyFromText = (caller: Caller, requestId: string, text: string): RequestKey => ({
  key: `${caller.principal}/${requestId}`,
  digest: textDigest(text),
});

/** An operation that `run` decides without reading anything first. A repeat of its request gets the same reply. */
export const operationOf = <Reply>(
  kind: string,
  requestKey: RequestKey | null,
  run: (transaction: TransactionBuilder) => Reply,
  requestId?: string,
): Operation<Reply> => ({
  kind,
  requestKey,
  attempt(view) {
    const transaction = new TransactionBuilder(view, requestId);
    return transaction.answer(requestKey, run(transaction));
  },
});

/** Adds the decision on an action of a session, and what it changes in the permits of the session and its track. */
export function addAction(
  transaction: TransactionBuilder,
  decision: Decision,
  requestFields?: RequestFields,
): void {
  transaction.addDecision(decision, requestFields);
  extendSessionPermit(transaction, decision);
  updateTrackPermits(transaction, decision);
}

/** Extends the permit of a session that has acted: by the idle time, or to the end of the session's leases. */
export function extendSessionPermit(transaction: TransactionBuilder, decision: Decision): void {
  const { view } = transaction;
  const { claim } = decision.next;
  if (claim === null || decision.events.length === 0) return;
  if (decision.head.claim?.session_id !== claim.session_id) shortenSessionPermit(transaction, decision.head);
  // Releasing the claims of a closed session must not reactivate it.
  if (isSessionClosed(view, claim.session_id)) return;
  const leaseMs = permitHeldUntilMs(decision.next, view.rulesOf(decision.next.subject));
  const untilMs = view.extendSessionUntilMs(claim.session_id, leaseMs, decision.next.subject);
  if (!view.isSessionCountedUntil(claim.session_id, untilMs))
    transaction.setPermit(SESSIONS_SCOPE, claim.session_id, untilMs);
}

/** Shortens the permit of a session that has lost a claim without acting. */
export function shortenSessionPermit(transaction: TransactionBuilder, head: Head): void {
  const { view } = transaction;
  if (head.claim === null || isSessionClosed(view, head.claim.session_id)) return;
  const untilMs = view.shortenSessionUntilMs(head);
  if (untilMs !== null) transaction.setPermit(SESSIONS_SCOPE, head.claim.session_id, untilMs);
}

/** Updates the agents' permits in the track, where agents per track are limited. */
export function updateTrackPermits(transaction: TransactionBuilder, decision: Decision): void {
  const { view } = transaction;
  const { max_agents_per_track } = view.policy;
  const { claim, subject } = decision.next;
  if (max_agents_per_track === null || claim === null || decision.events.length === 0) return;
  const task = view.state.plan.get(subject)?.task;
  const max = maxAgentsIn(task?.track ?? null, max_agents_per_track);
  if (task === undefined || max === null) return;
  const scope = trackScope(task.track);
  // An agent that loses the work by this decision gives up its permit, whatever session it was in.
  for (const agentId of new Set([decision.head.claim?.agent_id ?? claim.agent_id, claim.agent_id])) {
    transaction.setPermit(scope, agentId, trackPermitUntilMs(view, task.track, agentId, decision.next));
  }
  if (needsPermit(decision, view.now_ms, view.rulesOf(subject))) transaction.addPermitLimit({ scope, max });
}

function trackPermitUntilMs(view: DecisionView, track: string, agentId: string, next: Head): number | null {
  const others = [...view.subjectsHeldBy(agentId)]
    .filter((id) => id !== next.subject && view.state.plan.get(id)?.task.track === track)
    .map((id) => view.peekHead(id));
  const endsMs = [next, ...others]
    .filter((head) => head.claim?.agent_id === agentId)
    .map((head) => permitHeldUntilMs(head, view.rulesOf(head.subject)))
    .filter((untilMs) => untilMs !== null);
  return endsMs.length === 0 ? null : Math.max(...endsMs);
}
