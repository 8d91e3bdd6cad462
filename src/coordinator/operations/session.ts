import { describeReachedLimit } from '../../core/claims/reached-limit.js';
import { adviceFor } from '../../core/contract/codes.js';
import type { SessionRecord, SessionResult } from '../../core/contract/sessions.js';
import { isoTime } from '../../core/events/envelope.js';
import {
  canControlSession,
  isClaimOfOtherUser,
  isInboxOfOtherPrincipal,
  type SessionOwner,
} from '../../core/sessions.js';
import type { ProjectKey } from '../../stores/store.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Operation, RequestKey } from '../queue/operation.js';
import { SESSIONS_SCOPE } from '../queue/permit-limits.js';
import { draftEvent, type TransactionBuilder } from '../queue/transaction-builder.js';
import { type Problem, problem } from '../wire/problem.js';
import { operationOf } from './shared.js';

interface SessionRequest {
  readonly session_id: string;
  readonly user_id: string | null;
  readonly public_key: string | null;
}

/** Opens a session. Idempotent by the id of the session, or by the request if the coordinator assigns the id. */
export const openSession = (
  opening: SessionRequest,
  caller: Caller,
  requestKey: RequestKey | null,
): Operation<SessionResult | Problem> =>
  operationOf('open_session', requestKey, (transaction) => {
    const { view } = transaction;
    const { session_id, user_id } = opening;
    const { principal } = caller;
    const { subject, record } = view.lookUpSession(session_id);
    const forbidden = refuseOtherOwner(transaction, session_id, caller);
    if (record !== null || forbidden !== null || view.reachedLimit !== null) {
      transaction.checkRecord(subject);
      return forbidden ?? openedResult(view, opening);
    }
    transaction.openSession({ ...opening, agent_id: user_id ?? principal, principal });
    transaction.setPermit(SESSIONS_SCOPE, session_id, view.extendSessionUntilMs(session_id, 0, subject));
    transaction.addPermitLimit({ scope: SESSIONS_SCOPE, max: view.limits.max_active_sessions });
    return openedResult(view, opening);
  });

function openedResult(view: DecisionView, opening: SessionRequest): SessionResult {
  const session = readSessionRecord(view, opening.session_id);
  if (session === null) {
    const { says: next, ...limitFields } = describeReachedLimit(
      view.reachedLimit ?? 'max_active_sessions',
      null,
      { ...view.policy, ...view.limits },
    );
    return { success: false, reason: 'DENIED_LIMIT', session, ...limitFields, next };
  }
  const reason = reopeningRefusal(session, opening);
  if (reason === null) return { success: true, reason: 'OPENED', session };
  return { success: false, reason, session, next: adviceFor(reason) };
}

function reopeningRefusal(session: SessionRecord, { public_key }: SessionRequest) {
  if (session.state === 'closed') return 'SESSION_CLOSED';
  return public_key === null || public_key === session.public_key ? null : 'PUBLIC_KEY_CONFLICT';
}

/**
 * Refuses a caller that may not act in the session. Null if the caller controls the session, or may open it because
 * there is no such session. The transaction checks what a refusal depends on: another coordinator may have opened the session
 * meanwhile.
 */
export function refuseOtherOwner(
  transaction: TransactionBuilder,
  sessionId: string,
  caller: Caller,
): Problem | null {
  const { view } = transaction;
  const { subject, record } = view.lookUpSession(sessionId);
  if (record !== null) {
    if (canControlSession(record.value as unknown as SessionOwner, caller)) return null;
  } else if (!isInboxOfOtherPrincipal(sessionId, caller)) {
    const claimed = claimOfAnother(view, sessionId, caller);
    if (claimed === undefined) return null;
    transaction.checkHead(claimed);
  }
  transaction.checkRecord(subject);
  return problem(
    'FORBIDDEN',
    `The session ${sessionId} belongs to another credential or inbox. Open your own session, use a credential of ` +
      'the same user, or have an admin do it.',
  );
}

/**
 * A claim of another caller in a session that has no record, for example after a reassignment. A caller that opened the
 * session now could end that claim.
 */
function claimOfAnother(view: DecisionView, sessionId: string, caller: Caller): string | undefined {
  const subjects = [...(view.state.bySession.get(sessionId) ?? [])];
  return subjects.find((subject) => {
    const userId = view.peekHead(subject).claim?.user_id ?? null;
    return view.isLive(subject) && isClaimOfOtherUser(userId, caller);
  });
}

export const unknownSessionProblem = (): Problem =>
  problem('NOT_FOUND', 'There is no session with that id. List the sessions: gen sessions.');

/** Closes a session. Idempotent. */
export const closeSession = (session_id: string, caller: Caller): Operation<SessionResult | Problem> =>
  operationOf('close_session', null, (transaction) => {
    const { view } = transaction;
    const { subject, record } = view.lookUpSession(session_id);
    const forbidden = refuseOtherOwner(transaction, session_id, caller);
    if (forbidden !== null || record === null || record.value.state === 'closed') {
      transaction.checkRecord(subject);
    } else {
      const by = actorOf(caller);
      const closed = { ...record.value, state: 'closed', closed_at: isoTime(view.now_ms) };
      const payload = { by, principal: caller.principal, record: closed };
      const draft = draftEvent(view, 'SESSION_CLOSED', by, payload);
      transaction.putRecord(subject, [{ ...draft, session_id }]).setPermit(SESSIONS_SCOPE, session_id, null);
    }
    if (forbidden !== null) return forbidden;
    const session = readSessionRecord(view, session_id);
    return session === null ? unknownSessionProblem() : { success: true, reason: 'CLOSED', session };
  });

type StoredSession = Omit<SessionRecord, 'session_id' | keyof ProjectKey> & SessionOwner;

export function readSessionRecord(view: DecisionView, session_id: string): SessionRecord | null {
  const value = view.lookUpSession(session_id).record?.value;
  if (value === undefined) return null;
  const { principal: _, ...publicFields } = value as unknown as StoredSession;
  return { session_id, ...view.key, ...publicFields };
}
