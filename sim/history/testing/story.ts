import type { ClaimsCommand, Decision } from '../../../src/core/claims/commands.js';
import { decide } from '../../../src/core/claims/decide.js';
import { emptyHead, type Head } from '../../../src/core/claims/head.js';
import { occupiedUntilMs } from '../../../src/core/claims/lease.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Limits, rulesFor } from '../../../src/core/claims/policy.js';
import { type EventEnvelope, isoTime } from '../../../src/core/events/envelope.js';
import { workProductRef } from '../../../src/core/plan/index.js';
import { commandOf } from '../check/refusals.js';
import type { Answer, Asked, Call, Told } from '../history.js';

export const LIMITS: Limits = { ...DEFAULT_LIMITS, min_lease_duration_seconds: 1, max_concurrent_claims: 2 };
const RULES = rulesFor('task', DEFAULT_POLICY, LIMITS, 0);
const STORE_AHEAD_MS = 1_700_000_000_000;

/** A handle as its holder has it. */
export interface Held {
  readonly subject: string;
  readonly agent_id: string;
  readonly generation: number;
}

interface When {
  /** Invoked then; decided and returned 10 ms later each, unless said. */
  readonly at: number;
  readonly decided?: number;
  readonly returned?: number;
  /** Another request than the one by which the story would call it. */
  readonly request_id?: string;
}

/** A small history that is good, since the rules themselves wrote it; what is wrong with it is planted afterwards. */
export class Story {
  readonly calls: Call[] = [];
  readonly events: EventEnvelope[] = [];
  private readonly current = new Map<string, Head>();

  claim(agent_id: string, subject: string, when: When): Held {
    this.tell(this.asked('claim', agent_id, subject, null, when), when);
    const { generation = 0 } = this.last.answer.kind === 'ok' ? this.last.answer.told : {};
    return { subject, agent_id, generation };
  }

  renew(held: Held, when: When): Call {
    return this.act('renew', held, when);
  }

  release(held: Held, when: When): Call {
    return this.act('release', held, when);
  }

  submit(held: Held, when: When): Call {
    return this.act('submit', held, when);
  }

  get last(): Call {
    return this.calls[this.calls.length - 1] as Call;
  }

  /** The last call was answered so, or not at all. */
  answered(answer: Answer): this {
    this.calls[this.calls.length - 1] = { ...this.last, answer };
    return this;
  }

  /** The log loses its last events, and everybody who was told of them knows no better. */
  forget(count = 1): this {
    for (const { subject = '' } of this.events.splice(-count)) this.current.delete(subject);
    return this;
  }

  /** The last event is there a second time, at the next place. */
  doubled(fields: Partial<EventEnvelope> = {}): this {
    const event = this.events[this.events.length - 1] as EventEnvelope;
    const again = {
      event_id: `${event.event_id}b`,
      position: this.events.length + 1,
      seq: (event.seq ?? 0) + 1,
    };
    this.events.push({ ...event, ...again, ...fields });
    return this;
  }

  private act(operation: Asked['operation'], held: Held, when: When): Call {
    return this.tell(this.asked(operation, held.agent_id, held.subject, held.generation, when), when);
  }

  private asked(
    operation: Asked['operation'],
    agent_id: string,
    subject: string,
    generation: number | null,
    { at, request_id = `${operation}-${agent_id}-${at}` }: When,
  ): Asked {
    return {
      operation,
      request_id,
      subject,
      agent_id,
      session_id: `session-${agent_id}`,
      generation,
      claim_id: generation === null ? null : claimId(subject, generation),
      lease_seconds: operation === 'claim' || operation === 'renew' ? 1 : null,
      sha256: operation === 'submit' ? `${agent_id}${generation}`.padEnd(64, '0') : null,
    };
  }

  private tell(asked: Asked, { at, decided = at + 10, returned = decided + 10 }: When): Call {
    const decision = this.decide(asked, STORE_AHEAD_MS + decided);
    this.keep(decision, asked);
    const call = {
      number: this.calls.length + 1,
      asked,
      coordinator: 'one',
      invoked_ms: at,
      returned_ms: returned,
      answer: answerOf(decision, asked),
    };
    this.calls.push(call);
    return call;
  }

  private decide(asked: Asked, now_ms: number): Decision {
    const head = this.current.get(asked.subject) ?? emptyHead(asked.subject);
    const live = [...this.current.values()].filter((other) => (occupiedUntilMs(other, RULES) ?? 0) > now_ms);
    const full = live.length < LIMITS.max_concurrent_claims ? null : 'max_concurrent_claims';
    const command = commandOf(asked, full);
    const claimIdOf = ({ generation }: { generation: number }) => claimId(asked.subject, generation);
    return decide(head, withReference(command, asked), { now_ms, rules: RULES, claimIdOf });
  }

  private keep({ events, next }: Decision, { request_id }: Asked): void {
    this.current.set(next.subject, next);
    for (const draft of events) {
      const position = this.events.length + 1;
      const place = { event_id: `event-${position}`, tenant_id: 't', project_id: 'p', position };
      this.events.push({ request_id, ...draft, ...place });
    }
  }
}

const claimId = (subject: string, generation: number): string => `clm-${subject}-${generation}`;

function withReference(command: ClaimsCommand, { subject, generation, sha256 }: Asked): ClaimsCommand {
  if (command.type !== 'submit') return command;
  const work_product_ref = workProductRef(subject, generation ?? 0, sha256 ?? '');
  return { ...command, result: { ...command.result, work_product_ref } };
}

function answerOf({ ok, code, next, head, details }: Decision, { operation, subject }: Asked): Answer {
  const ends = details.expires_at_ms == null ? null : isoTime(details.expires_at_ms);
  const granted = operation === 'claim' && ok;
  const told: Told = {
    ...(granted ? { generation: next.generation, claim_id: claimId(subject, next.generation) } : {}),
    ...(ok && ends !== null ? { expires_at: ends } : {}),
    ...(code === 'DENIED_ACTIVE_CLAIM' ? { holder: head.claim?.agent_id ?? null, expires_at: ends } : {}),
    ...(operation === 'submit' && !ok ? { generation: head.generation } : {}),
    ...(details.limit === undefined ? {} : { limit: details.limit }),
  };
  return ok ? { kind: 'ok', told } : { kind: 'refused', reason: code, told };
}
