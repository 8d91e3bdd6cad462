import { isoTime } from '../../core/events/envelope.js';
import { sessionSubject } from '../../core/subject.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Attempt, Operation } from '../operation.js';
import { refusedClaim } from '../render.js';
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
  readonly user_id: string;
  readonly public_key: string | null;
}

/** Opening a session twice is opening it once; where we name it, the request says that it is the same. */
export class OpenSessionOperation implements Operation<SessionResult> {
  readonly kind = 'open_session';
  constructor(
    private readonly opening: OpenSession,
    readonly request: Operation<SessionResult>['request'],
  ) {}

  attempt(desk: Desk): Attempt<SessionResult> {
    const { session_id, user_id } = this.opening;
    const subject = sessionSubject(session_id);
    const unit = new UnitBuilder(desk);
    const known = desk.record(subject);
    if (known !== null || desk.full !== null) {
      unit.check(subject, known?.seq ?? 0);
      return { unit: unit.build(this.request), reply: this.answer(desk) };
    }
    const draft = sessionOpened({ ...this.opening, agent_id: user_id, now_ms: desk.now_ms });
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
    if (session?.state === 'open') return { success: true, reason: 'OPENED', session };
    const reason = session === null ? 'DENIED_LIMIT' : 'SESSION_CLOSED';
    const { next } = refusedClaim(reason);
    const limit = session === null ? { limit: desk.full ?? 'max_active_sessions' } : {};
    return { success: false, reason, session, ...limit, ...(next === undefined ? {} : { next }) };
  }
}

export class CloseSessionOperation implements Operation<SessionResult> {
  readonly kind = 'close_session';
  readonly request = null;

  constructor(
    private readonly session_id: string,
    private readonly caller: Caller,
  ) {}

  attempt(desk: Desk): Attempt<SessionResult> {
    const subject = sessionSubject(this.session_id);
    const known = desk.record(subject);
    const unit = new UnitBuilder(desk);
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
          payload: { by, record: { ...known.value, state: 'closed', closed_at } },
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
  return {
    session_id,
    ...desk.key,
    ...(value as Omit<SessionRecord, 'session_id' | 'tenant_id' | 'project_id'>),
  };
}
