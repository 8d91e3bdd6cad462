import { adviceFor } from '../../core/contract/codes.js';
import type { SessionRecord, SessionResult } from '../../core/contract/sessions.js';
import { isoTime } from '../../core/events/envelope.js';
import { controlsSession, isInboxOfAnother, type SessionOwner } from '../../core/sessions.js';
import { sessionSubject } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { SESSIONS_SCOPE } from '../queue/permit-limits.js';
import { sessionOpenedEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { type Problem, problem } from '../wire/problem.js';

export interface OpenSessionRequest {
  readonly session_id: string;
  readonly user_id: string | null;
  readonly public_key: string | null;
}

/** Opens a session. Idempotent by its id; if the coordinator assigns the id, by the request. */
export class OpenSessionOperation implements Operation<SessionResult | Problem> {
  readonly kind = 'open_session';
  constructor(
    private readonly opening: OpenSessionRequest,
    private readonly caller: Caller,
    readonly request: Operation<SessionResult>['request'],
  ) {}

  attempt(view: DecisionView): Attempt<SessionResult | Problem> {
    const { session_id, user_id } = this.opening;
    const subject = sessionSubject(session_id);
    const transaction = new TransactionBuilder(view);
    const existing = view.record(subject);
    const forbidden = otherOwnerProblem(view, session_id, this.caller);
    if (existing !== null || forbidden !== null || view.exhaustedLimit !== null) {
      transaction.check(subject, existing?.seq ?? 0);
      return { transaction: transaction.build(this.request), reply: forbidden ?? this.buildReply(view) };
    }
    const { principal } = this.caller;
    const agent_id = user_id ?? principal;
    const draft = sessionOpenedEvent({ ...this.opening, agent_id, principal, now_ms: view.now_ms });
    transaction.putRecord(subject, null, [draft]);
    transaction.setPermit(SESSIONS_SCOPE, session_id, view.extendSessionUntilMs(session_id, 0));
    transaction.addPermitLimit(SESSIONS_SCOPE, view.limits.max_active_sessions);
    const reply = this.buildReply(view);
    return { transaction: transaction.build(this.request, reply), reply };
  }

  replay(): SessionResult {
    throw new Error('the stored request of a session opening contains its reply');
  }

  private buildReply(view: DecisionView): SessionResult {
    const session = sessionRecord(view, this.opening.session_id);
    if (session === null) {
      const limit = view.exhaustedLimit ?? 'max_active_sessions';
      return { success: false, reason: 'DENIED_LIMIT', session, limit, next: adviceFor('DENIED_LIMIT') };
    }
    const reason = this.refusal(session);
    if (reason === null) return { success: true, reason: 'OPENED', session };
    return { success: false, reason, session, next: adviceFor(reason) };
  }

  private refusal(session: SessionRecord) {
    const { public_key } = this.opening;
    if (session.state === 'closed') return 'SESSION_CLOSED';
    return public_key === null || public_key === session.public_key ? null : 'PUBLIC_KEY_CONFLICT';
  }
}

/** Null if the caller controls the session, or may open it because there is none. */
export function otherOwnerProblem(view: DecisionView, sessionId: string, caller: Caller): Problem | null {
  const session = view.lookUpSession(sessionId).record;
  const isAllowed =
    session === null
      ? !isInboxOfAnother(sessionId, caller)
      : controlsSession(session.value as unknown as SessionOwner, caller);
  if (isAllowed) return null;
  return problem(
    'FORBIDDEN',
    `The session ${sessionId} belongs to another credential or inbox. Open your own session, use a credential of ` +
      'the same user, or have an admin do it.',
  );
}

export const unknownSessionProblem = (): Problem =>
  problem('NOT_FOUND', 'There is no session with that id. List the sessions: gen sessions.');

export class CloseSessionOperation implements Operation<SessionResult | Problem> {
  readonly kind = 'close_session';
  readonly request = null;

  constructor(
    private readonly sessionId: string,
    private readonly caller: Caller,
  ) {}

  attempt(view: DecisionView): Attempt<SessionResult | Problem> {
    const subject = sessionSubject(this.sessionId);
    const existing = view.record(subject);
    const transaction = new TransactionBuilder(view);
    const forbidden = otherOwnerProblem(view, this.sessionId, this.caller);
    if (forbidden !== null) {
      return { transaction: transaction.check(subject, existing?.seq ?? 0).build(null), reply: forbidden };
    }
    if (existing === null || existing.value.state === 'closed') {
      transaction.check(subject, existing?.seq ?? 0);
    } else {
      const closed_at = isoTime(view.now_ms);
      const by = this.caller.user_id ?? this.caller.principal;
      transaction.putRecord(subject, existing, [
        {
          event_type: 'SESSION_CLOSED',
          timestamp: closed_at,
          agent_id: by,
          session_id: this.sessionId,
          payload: {
            by,
            principal: this.caller.principal,
            record: { ...existing.value, state: 'closed', closed_at },
          },
        },
      ]);
      transaction.setPermit(SESSIONS_SCOPE, this.sessionId, null);
    }
    const session = sessionRecord(view, this.sessionId);
    const reply: SessionResult | Problem =
      session === null ? unknownSessionProblem() : { success: true, reason: 'CLOSED', session };
    return { transaction: transaction.build(null), reply };
  }

  replay(): SessionResult {
    throw new Error('closing a session is idempotent and stores no request');
  }
}

export function sessionRecord(view: DecisionView, session_id: string): SessionRecord | null {
  const value = view.lookUpSession(session_id).record?.value;
  if (value === undefined) return null;
  const { principal: _, ...shown } = value as unknown as Omit<
    SessionRecord,
    'session_id' | keyof ProjectKey
  > &
    SessionOwner;
  return { session_id, ...view.key, ...shown };
}
