import { isoTime } from '../../core/events/envelope.js';
import type { RecordHead } from '../../core/record.js';
import { controlsSession, type SessionOwner } from '../../core/sessions.js';
import { sessionSubject } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import { adviceFor } from '../advice.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Attempt, Operation } from '../operation.js';
import { type Problem, problem } from '../problem.js';
import { SESSIONS_SCOPE } from '../rooms.js';
import { sessionOpened, UnitBuilder } from '../unit-builder.js';

export interface SessionRecord {
  session_id: string;
  tenant_id: string;
  project_id: string;
  user_id: string | null;
  state: 'open' | 'closed';
  created_at: string;
  closed_at?: string;
  public_key?: string;
}

export interface SessionResult {
  success: boolean;
  reason: string;
  session: SessionRecord | null;
  limit?: string;
  next?: string;
}

export interface OpenSession {
  readonly session_id: string;
  readonly user_id: string | null;
  readonly public_key: string | null;
}

/** Opening a session twice is opening it once; where we name it, the request says that it is the same. */
export class OpenSessionOperation implements Operation<SessionResult | Problem> {
  readonly kind = 'open_session';
  constructor(
    private readonly opening: OpenSession,
    private readonly caller: Caller,
    readonly request: Operation<SessionResult>['request'],
  ) {}

  attempt(desk: Desk): Attempt<SessionResult | Problem> {
    const { session_id, user_id } = this.opening;
    const subject = sessionSubject(session_id);
    const unit = new UnitBuilder(desk);
    const known = desk.record(subject);
    if (known !== null || desk.full !== null) {
      unit.check(subject, known?.seq ?? 0);
      const reply = notYours(session_id, known, this.caller) ?? this.answer(desk);
      return { unit: unit.build(this.request), reply };
    }
    const { principal } = this.caller;
    const agent_id = user_id ?? principal;
    const draft = sessionOpened({ ...this.opening, agent_id, principal, now_ms: desk.now_ms });
    unit.record(subject, null, [draft]);
    unit.slot(SESSIONS_SCOPE, session_id, desk.sessionUntilMs(session_id, 0));
    unit.room(SESSIONS_SCOPE, desk.limits.max_active_sessions);
    const reply = this.answer(desk);
    return { unit: unit.build(this.request, reply), reply };
  }

  replay(): SessionResult {
    throw new Error('an opening that was made is remembered with its reply');
  }

  private answer(desk: Desk): SessionResult {
    const session = sessionRecord(desk, this.opening.session_id);
    const reason = this.refusal(session);
    if (reason === null) return { success: true, reason: 'OPENED', session };
    const limit = session === null ? { limit: desk.full ?? 'max_active_sessions' } : {};
    return { success: false, reason, session, ...limit, next: adviceFor(reason) };
  }

  private refusal(session: SessionRecord | null): string | null {
    const { public_key } = this.opening;
    if (session === null) return 'DENIED_LIMIT';
    if (session.state === 'closed') return 'SESSION_CLOSED';
    return public_key === null || public_key === session.public_key ? null : 'PUBLIC_KEY_CONFLICT';
  }
}

/** Null: there is no such session, or the caller controls it. */
function notYours(session_id: string, known: RecordHead | null, caller: Caller): Problem | null {
  if (known === null || controlsSession(known.value as unknown as SessionOwner, caller)) return null;
  return problem(
    'FORBIDDEN',
    `The session ${session_id} was opened by another credential. Use a session of your own, or the credential or ` +
      'the user that opened this one, or ask an admin.',
  );
}

export class CloseSessionOperation implements Operation<SessionResult | Problem> {
  readonly kind = 'close_session';
  readonly request = null;

  constructor(
    private readonly session_id: string,
    private readonly caller: Caller,
  ) {}

  attempt(desk: Desk): Attempt<SessionResult | Problem> {
    const subject = sessionSubject(this.session_id);
    const known = desk.record(subject);
    const unit = new UnitBuilder(desk);
    const forbidden = notYours(this.session_id, known, this.caller);
    if (forbidden !== null) {
      return { unit: unit.check(subject, known?.seq ?? 0).build(null), reply: forbidden };
    }
    if (known === null || known.value.state === 'closed') {
      unit.check(subject, known?.seq ?? 0);
    } else {
      const closed_at = isoTime(desk.now_ms);
      const by = this.caller.user_id ?? this.caller.principal;
      unit.record(subject, known, [
        {
          event_type: 'SESSION_CLOSED',
          timestamp: closed_at,
          agent_id: by,
          session_id: this.session_id,
          payload: {
            by,
            principal: this.caller.principal,
            record: { ...known.value, state: 'closed', closed_at },
          },
        },
      ]);
      unit.slot(SESSIONS_SCOPE, this.session_id, null);
    }
    const session = sessionRecord(desk, this.session_id);
    const reply = { success: session !== null, reason: session === null ? 'NO_SESSION' : 'CLOSED', session };
    return { unit: unit.build(null), reply };
  }

  replay(): SessionResult {
    throw new Error('closing a session is idempotent from its record');
  }
}

export function sessionRecord(desk: Desk, session_id: string): SessionRecord | null {
  const value = desk.session(session_id).record?.value;
  if (value === undefined) return null;
  const { principal: _, ...shown } = value as unknown as Omit<
    SessionRecord,
    'session_id' | keyof ProjectKey
  > &
    SessionOwner;
  return { session_id, ...desk.key, ...shown };
}
