import { expect } from 'vitest';
import { type EventDraft, isoTime } from '../../events/envelope.js';
import { kindOf, subjectKeys } from '../../subject.js';
import type { ClaimsCommand, Context, Decision, DecisionDetails } from '../commands.js';
import { decide } from '../decide.js';
import { evolve } from '../evolve.js';
import { eventName, type Fact } from '../facts.js';
import { emptyHead, type Head } from '../head.js';
import type { Payloads } from '../payloads.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Rules, rulesFor } from '../policy.js';

export const TASK = 'A-001-core';
export const EDGE = 'REQ-F-AUTH-001#design_code';

/** Tests speak in seconds after this moment. */
export const T0_MS = Date.UTC(2026, 0, 1);
export const msAt = (at_seconds: number): number => T0_MS + at_seconds * 1000;
export const isoAt = (at_seconds: number): string => isoTime(msAt(at_seconds));

export const TASK_RULES: Rules = rulesFor('task', DEFAULT_POLICY, DEFAULT_LIMITS, 0);
export const EDGE_RULES: Rules = rulesFor('edge', DEFAULT_POLICY, DEFAULT_LIMITS, 0);

/** Not secret, but as unlike for two grants as the real one. */
export const claimIdOf: Context['claimIdOf'] = ({ generation, request_id }) =>
  `claim-${generation}-${request_id}`;

/** Somebody at work. Ada and Eve share a session; each grant has a request of its own. */
export interface Worker {
  readonly agent_id: string;
  readonly session_id: string;
  readonly agent_role: string | null;
}
export const ada: Worker = { agent_id: 'ada', session_id: 's-1', agent_role: null };
export const eve: Worker = { agent_id: 'eve', session_id: 's-1', agent_role: null };
export const bob: Worker = { agent_id: 'bob', session_id: 's-2', agent_role: null };

export const requestOf = (worker: Worker): string => `request-of-${worker.agent_id}`;

/** One fact of the past. It sees the head it happened to, so that a test names only what matters to it. */
export type PastFact = (head: Head) => EventDraft;

export function fact<F extends Fact>(
  name: F,
  at_seconds: number,
  payload: Payloads[F],
  envelope: Partial<EventDraft> = {},
): PastFact {
  return (head) => ({
    event_type: eventName(name, head.subject),
    timestamp: isoAt(at_seconds),
    subject: head.subject,
    ...subjectKeys(head.subject),
    seq: head.seq + 1,
    agent_id: head.claim?.agent_id ?? 'nobody',
    session_id: head.claim?.session_id ?? '',
    generation: head.generation,
    ...envelope,
    payload: payload as unknown as Readonly<Record<string, unknown>>,
  });
}

export interface GrantFields {
  readonly lease_seconds?: number | null;
  readonly max_hold_seconds?: number;
  readonly inputs?: string;
}

export function granted(worker: Worker, at_seconds: number, fields: GrantFields = {}): PastFact {
  const lease_seconds = fields.lease_seconds === undefined ? 300 : fields.lease_seconds;
  const payload: Omit<Payloads['granted'], 'previous_generation' | 'previous_state'> = {
    lease_duration_seconds: lease_seconds,
    expires_at: lease_seconds === null ? null : isoAt(at_seconds + lease_seconds),
    ...(fields.max_hold_seconds === undefined
      ? {}
      : { max_hold_until: isoAt(at_seconds + fields.max_hold_seconds) }),
    ...(fields.inputs === undefined ? {} : { inputs: fields.inputs }),
  };
  return (head) => {
    const from = {
      previous_generation: head.generation,
      previous_state: head.claim?.state ?? 'NONE',
    } as const;
    const { agent_id, session_id } = worker;
    const envelope = { agent_id, session_id, generation: head.generation + 1, request_id: requestOf(worker) };
    return fact('granted', at_seconds, { ...from, ...payload }, envelope)(head);
  };
}

export const expired = (at_seconds: number): PastFact =>
  fact('lost', at_seconds, { cause: 'EXPIRED', disposition: 'eligible', expired_at: isoAt(at_seconds) });
export const released = (
  at_seconds: number,
  payload: Payloads['released'] = { reason: 'VOLUNTARY' },
): PastFact => fact('released', at_seconds, payload);
export const held = (at_seconds: number, reason = 'look at this'): PastFact =>
  fact('held', at_seconds, { reason, by: 'hana' }, { agent_id: 'hana' });
export const suspended = (at_seconds: number, gate?: Payloads['suspended']['gate']): PastFact =>
  fact('suspended', at_seconds, { until: isoAt(at_seconds + 3600), ...(gate === undefined ? {} : { gate }) });
export const accepted = (at_seconds: number, sha256 = 'aa11'): PastFact => {
  return (head) =>
    fact('accepted', at_seconds, {
      outcome: 'ACCEPTED',
      late: false,
      ...resultPayload(sha256, head.generation, head.subject),
    })(head);
};
export const escalated = (at_seconds: number, sha256 = 'aa11'): PastFact => {
  return (head) =>
    fact('escalated', at_seconds, {
      reason: 'outside_role_authority',
      iteration: 1,
      until: isoAt(at_seconds + 3600),
      ...resultPayload(sha256, head.generation, head.subject),
    })(head);
};
export const reset = (at_seconds: number): PastFact => {
  return (head) =>
    fact(
      'reset',
      at_seconds,
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

export const headAfter = (subject: string, past: readonly PastFact[]): Head =>
  past.reduce<Head>((head, happened) => evolve(head, happened(head)), emptyHead(subject));

export const given = (...past: PastFact[]): Given => new Given(TASK, past, TASK_RULES);

/** Given past facts, when a command comes at a time, then events or a refusal. */
export class Given {
  constructor(
    private readonly subject: string,
    private readonly past: readonly PastFact[],
    private readonly theRules: Rules,
  ) {}

  on(subject: string): Given {
    return new Given(subject, this.past, kindOf(subject) === 'edge' ? EDGE_RULES : TASK_RULES);
  }

  under(rules: Partial<Rules>): Given {
    return new Given(this.subject, this.past, { ...this.theRules, ...rules });
  }

  when(command: ClaimsCommand, at_seconds: number): Outcome {
    const ctx: Context = { now_ms: msAt(at_seconds), rules: this.theRules, claimIdOf };
    return new Outcome(decide(headAfter(this.subject, this.past), command, ctx));
  }
}

export class Outcome {
  constructor(readonly decision: Decision) {}

  /** It took effect, with just these events and these payload fields among theirs. */
  thenEvents(code: string, ...events: readonly [name: string, payload?: object][]): Decision {
    expect(this.decision).toMatchObject({ ok: true, code });
    expect(this.decision.events.map((event) => event.event_type)).toEqual(events.map(([name]) => name));
    events.forEach(([, payload], index) => {
      if (payload !== undefined) expect(this.decision.events[index]?.payload).toMatchObject(payload);
    });
    expect(this.decision.events.reduce<Head>(evolve, this.decision.head)).toEqual(this.decision.next);
    return this.decision;
  }

  /** Refused: the code, the details, and a head that nothing touched. */
  thenRefused(code: string, details: DecisionDetails = {}): Decision {
    expect({ ok: this.decision.ok, code: this.decision.code }).toEqual({ ok: false, code });
    expect(this.decision.details).toMatchObject(details);
    return this.thenNothingHappened();
  }

  /** Yes, as before: the same answer again, and nothing new. */
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
