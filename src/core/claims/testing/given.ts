import { expect } from 'vitest';
import type { ClaimEventPayloads } from '../../events/claim-payload-schemas.js';
import { type EventDraft, isoTime } from '../../events/envelope.js';
import { subjectKeys, subjectKindOf } from '../../subject.js';
import { type ClaimEventKind, claimEventType } from '../claim-event-kinds.js';
import type { Decision, DecisionContext, DecisionDetails, SubjectCommand } from '../commands.js';
import { decide } from '../decide.js';
import { evolve } from '../evolve.js';
import { emptyHead, type Head } from '../head.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Rules, rulesFor } from '../policy.js';

export const TASK = 'A-001-core';
export const EDGE = 'REQ-F-AUTH-001#design_code';

/** Tests give times in seconds after this one. */
const T0_MS = Date.UTC(2026, 0, 1);
export const msAt = (atSeconds: number): number => T0_MS + atSeconds * 1000;
export const isoAt = (atSeconds: number): string => isoTime(msAt(atSeconds));

export const TASK_RULES: Rules = rulesFor('task', DEFAULT_POLICY, DEFAULT_LIMITS, 0);
export const EDGE_RULES: Rules = rulesFor('edge', DEFAULT_POLICY, DEFAULT_LIMITS, 0);

/** Not secret, but different for each grant, like a real claim id. */
export const claimIdOf: DecisionContext['claimIdOf'] = ({ generation, request_id }) =>
  `claim-${generation}-${request_id}`;

/** An agent in a test. Ada and Eve share a session; each agent has its own request id. */
export interface TestAgent {
  readonly agent_id: string;
  readonly session_id: string;
  readonly agent_role: string | null;
}
export const ada: TestAgent = { agent_id: 'ada', session_id: 's-1', agent_role: null };
export const eve: TestAgent = { agent_id: 'eve', session_id: 's-1', agent_role: null };
export const bob: TestAgent = { agent_id: 'bob', session_id: 's-2', agent_role: null };

export const requestOf = (worker: TestAgent): string => `request-of-${worker.agent_id}`;

/** Builds one past event. It receives the head before the event, so that a test states only what matters. */
export type PastEventBuilder = (head: Head) => EventDraft;

export function pastEvent<Kind extends ClaimEventKind>(
  kind: Kind,
  atSeconds: number,
  payload: ClaimEventPayloads[Kind],
  envelope: Partial<EventDraft> = {},
): PastEventBuilder {
  return (head) => ({
    event_type: claimEventType(kind, head.subject),
    timestamp: isoAt(atSeconds),
    subject: head.subject,
    ...subjectKeys(head.subject),
    seq: head.seq + 1,
    agent_id: head.claim?.agent_id ?? 'nobody',
    session_id: head.claim?.session_id ?? '',
    generation: head.generation,
    ...envelope,
    payload,
  });
}

interface GrantFields {
  readonly lease_seconds?: number | null;
  readonly max_hold_seconds?: number;
  readonly inputs?: string;
}

export function granted(worker: TestAgent, atSeconds: number, fields: GrantFields = {}): PastEventBuilder {
  const leaseSeconds = fields.lease_seconds === undefined ? 300 : fields.lease_seconds;
  const payload: Omit<ClaimEventPayloads['granted'], 'previous_generation' | 'previous_state'> = {
    lease_duration_seconds: leaseSeconds,
    expires_at: leaseSeconds === null ? null : isoAt(atSeconds + leaseSeconds),
    ...(fields.max_hold_seconds === undefined
      ? {}
      : { max_hold_until: isoAt(atSeconds + fields.max_hold_seconds) }),
    ...(fields.inputs === undefined ? {} : { inputs: fields.inputs }),
  };
  return (head) => {
    const previous = {
      previous_generation: head.generation,
      previous_state: head.claim?.state ?? 'NONE',
    } as const;
    const { agent_id, session_id } = worker;
    const envelope = { agent_id, session_id, generation: head.generation + 1, request_id: requestOf(worker) };
    return pastEvent('granted', atSeconds, { ...previous, ...payload }, envelope)(head);
  };
}

export const expired = (atSeconds: number): PastEventBuilder =>
  pastEvent('lost', atSeconds, { cause: 'EXPIRED', disposition: 'eligible', expired_at: isoAt(atSeconds) });
export const released = (
  atSeconds: number,
  payload: ClaimEventPayloads['released'] = { reason: 'VOLUNTARY' },
): PastEventBuilder => pastEvent('released', atSeconds, payload);
export const held = (atSeconds: number, reason = 'look at this'): PastEventBuilder =>
  pastEvent('held', atSeconds, { reason, by: 'hana' }, { agent_id: 'hana' });
export const suspended = (
  atSeconds: number,
  gate?: ClaimEventPayloads['suspended']['gate'],
): PastEventBuilder =>
  pastEvent('suspended', atSeconds, {
    until: isoAt(atSeconds + 3600),
    ...(gate === undefined ? {} : { gate }),
  });
export const accepted = (atSeconds: number, sha256 = 'aa11'): PastEventBuilder => {
  return (head) =>
    pastEvent('accepted', atSeconds, {
      outcome: 'ACCEPTED',
      late: false,
      ...resultPayload(sha256, head.generation, head.subject),
    })(head);
};
export const escalated = (atSeconds: number, sha256 = 'aa11'): PastEventBuilder => {
  return (head) =>
    pastEvent('escalated', atSeconds, {
      reason: 'outside_role_authority',
      iteration: 1,
      until: isoAt(atSeconds + 3600),
      ...resultPayload(sha256, head.generation, head.subject),
    })(head);
};
export const reset = (atSeconds: number): PastEventBuilder => {
  return (head) =>
    pastEvent(
      'reset',
      atSeconds,
      { reason: 'again', by: 'hana', epoch: head.epoch + 1 },
      { agent_id: 'hana' },
    )(head);
};

export function resultPayload(sha256: string, generation: number, subject: string) {
  return {
    result_id: `result-${sha256}`,
    result_sha256: sha256,
    result_size_bytes: 10,
    work_product_ref: `wp-${subject}-gen${generation}-${sha256}`,
  };
}

export const headAfter = (subject: string, history: readonly PastEventBuilder[]): Head =>
  history.reduce<Head>((head, buildEvent) => evolve(head, buildEvent(head)), emptyHead(subject));

export const given = (...history: PastEventBuilder[]): DecisionScenario =>
  new DecisionScenario(TASK, history, TASK_RULES);

/** Given past events, when a command arrives at a time, then events or a refusal follow. */
export class DecisionScenario {
  constructor(
    private readonly subject: string,
    private readonly history: readonly PastEventBuilder[],
    private readonly rules: Rules,
  ) {}

  on(subject: string): DecisionScenario {
    return new DecisionScenario(
      subject,
      this.history,
      subjectKindOf(subject) === 'edge' ? EDGE_RULES : TASK_RULES,
    );
  }

  under(rules: Partial<Rules>): DecisionScenario {
    return new DecisionScenario(this.subject, this.history, { ...this.rules, ...rules });
  }

  when(command: SubjectCommand, atSeconds: number): DecisionExpectation {
    const context: DecisionContext = { now_ms: msAt(atSeconds), rules: this.rules, claimIdOf };
    return new DecisionExpectation(decide(headAfter(this.subject, this.history), command, context));
  }
}

class DecisionExpectation {
  constructor(readonly decision: Decision) {}

  /** The command took effect with exactly these events; each payload contains at least the given fields. */
  thenEvents(code: string, ...events: readonly [name: string, payload?: object][]): Decision {
    expect(this.decision).toMatchObject({ ok: true, code });
    expect(this.decision.events.map((event) => event.event_type)).toEqual(events.map(([name]) => name));
    events.forEach(([, payload], index) => {
      if (payload !== undefined) expect(this.decision.events[index]?.payload).toMatchObject(payload);
    });
    expect(this.decision.events.reduce<Head>(evolve, this.decision.head)).toEqual(this.decision.next);
    return this.decision;
  }

  /** The command was refused with this code and these details, and the head is unchanged. */
  thenRefused(code: string, details: DecisionDetails = {}): Decision {
    expect({ ok: this.decision.ok, code: this.decision.code }).toEqual({ ok: false, code });
    expect(this.decision.details).toMatchObject(details);
    return this.thenNothingHappened();
  }

  /** The holder's command was refused, and the head shows only that the holder was active. */
  thenRefusedToHolder(code: string, details: DecisionDetails = {}): Decision {
    const { decision } = this;
    expect({ ok: decision.ok, code: decision.code }).toEqual({ ok: false, code });
    expect(decision.details).toMatchObject(details);
    return this.thenOnlyActive();
  }

  /** The head is unchanged, except that it shows the holder as active now. */
  thenOnlyActive(): Decision {
    const { head, next, events } = this.decision;
    expect(events.map(({ event_type }) => event_type)).toEqual([claimEventType('renewed', head.subject)]);
    const { last_at_ms } = next;
    const claim = { ...head.claim, active_at_ms: last_at_ms, stale: false };
    expect(next).toEqual({ ...head, claim, seq: head.seq + 1, last_at_ms });
    return this.decision;
  }

  /** The earlier reply is repeated without a new event. */
  thenReplayed(code: string): Decision {
    expect(this.decision).toMatchObject({ ok: true, code, details: { replayed: true } });
    return this.thenNothingHappened();
  }

  private thenNothingHappened(): Decision {
    expect(this.decision.events).toEqual([]);
    expect(this.decision.next).toBe(this.decision.head);
    return this.decision;
  }
}
