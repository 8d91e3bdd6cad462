import type { Decision, SubjectCommand } from '../../../src/core/claims/commands.js';
import { decide } from '../../../src/core/claims/decide.js';
import { emptyHead, type Head } from '../../../src/core/claims/head.js';
import { permitHeldUntilMs } from '../../../src/core/claims/lease.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Limits, rulesFor } from '../../../src/core/claims/policy.js';
import { type EventEnvelope, isoTime } from '../../../src/core/events/envelope.js';
import { workProductRef } from '../../../src/core/plan/index.js';
import { commandOf } from '../check/refusals.js';
import type { HistoryRequest, RecordedCall, RecordedOutcome, RecordedReplyFields } from '../history.js';

export const LIMITS: Limits = { ...DEFAULT_LIMITS, min_lease_duration_seconds: 1, max_concurrent_claims: 2 };
const RULES = rulesFor('task', DEFAULT_POLICY, LIMITS, 0);
const STORE_EPOCH_MS = 1_700_000_000_000;

/** A handle as its holder has it. */
interface BuiltHandle {
  readonly subject: string;
  readonly agent_id: string;
  readonly generation: number;
}

interface CallTiming {
  /** Time of the invocation in milliseconds. By default the decision follows 10 ms later, and the return another 10 ms. */
  readonly at: number;
  readonly decided?: number;
  readonly returned?: number;
  /** Overrides the default request id. */
  readonly request_id?: string;
  /** Whether the request resumes a live claim of its session. */
  readonly resume?: boolean;
}

/** Builds a small valid history by applying the rules themselves; tests then put violations into the history. */
export class HistoryBuilder {
  readonly calls: RecordedCall[] = [];
  readonly events: EventEnvelope[] = [];
  private readonly headsBySubject = new Map<string, Head>();

  claim(agent_id: string, subject: string, timing: CallTiming): BuiltHandle {
    this.addCall(this.buildRequest('claim', agent_id, subject, null, timing), timing);
    const { generation = 0 } = this.last.outcome.kind === 'ok' ? this.last.outcome.reply_fields : {};
    return { subject, agent_id, generation };
  }

  renew(handle: BuiltHandle, timing: CallTiming): RecordedCall {
    return this.callWithHandle('renew', handle, timing);
  }

  release(handle: BuiltHandle, timing: CallTiming): RecordedCall {
    return this.callWithHandle('release', handle, timing);
  }

  submit(handle: BuiltHandle, timing: CallTiming): RecordedCall {
    return this.callWithHandle('submit', handle, timing);
  }

  get last(): RecordedCall {
    return this.calls[this.calls.length - 1] as RecordedCall;
  }

  /** Replaces the outcome of the last call. */
  replaceLastOutcome(outcome: RecordedOutcome): this {
    this.calls[this.calls.length - 1] = { ...this.last, outcome };
    return this;
  }

  /** Removes the last events from the log and resets the heads of their subjects; the replies that confirmed them stay. */
  dropEvents(count = 1): this {
    for (const { subject = '' } of this.events.splice(-count)) this.headsBySubject.delete(subject);
    return this;
  }

  /** Appends a copy of the last event at the next position. */
  duplicateLastEvent(fields: Partial<EventEnvelope> = {}): this {
    const event = this.events[this.events.length - 1] as EventEnvelope;
    const nextFields = {
      event_id: `${event.event_id}b`,
      position: this.events.length + 1,
      seq: (event.seq ?? 0) + 1,
    };
    this.events.push({ ...event, ...nextFields, ...fields });
    return this;
  }

  private callWithHandle(
    operation: HistoryRequest['operation'],
    handle: BuiltHandle,
    timing: CallTiming,
  ): RecordedCall {
    return this.addCall(
      this.buildRequest(operation, handle.agent_id, handle.subject, handle.generation, timing),
      timing,
    );
  }

  private buildRequest(
    operation: HistoryRequest['operation'],
    agent_id: string,
    subject: string,
    generation: number | null,
    { at, request_id = `${operation}-${agent_id}-${at}`, resume = false }: CallTiming,
  ): HistoryRequest {
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
      ...(resume ? { resume } : {}),
    };
  }

  private addCall(
    request: HistoryRequest,
    { at, decided = at + 10, returned = decided + 10 }: CallTiming,
  ): RecordedCall {
    const decision = this.decide(request, STORE_EPOCH_MS + decided);
    this.appendEvents(decision, request);
    const call = {
      call_number: this.calls.length + 1,
      request,
      coordinator: 'one',
      invoked_ms: at,
      returned_ms: returned,
      outcome: outcomeOfDecision(decision, request),
    };
    this.calls.push(call);
    return call;
  }

  private decide(request: HistoryRequest, now_ms: number): Decision {
    const head = this.headsBySubject.get(request.subject) ?? emptyHead(request.subject);
    const liveHeads = [...this.headsBySubject.values()].filter(
      (other) => (permitHeldUntilMs(other, RULES) ?? 0) > now_ms,
    );
    const reachedLimit = liveHeads.length < LIMITS.max_concurrent_claims ? null : 'max_concurrent_claims';
    const command = commandOf(request, reachedLimit);
    const claimIdOf = ({ generation }: { generation: number }) => claimId(request.subject, generation);
    return decide(head, withReference(command, request), { now_ms, rules: RULES, claimIdOf });
  }

  private appendEvents({ events, next }: Decision, { request_id }: HistoryRequest): void {
    this.headsBySubject.set(next.subject, next);
    for (const draft of events) {
      const position = this.events.length + 1;
      const envelope = { event_id: `event-${position}`, tenant_id: 't', project_id: 'p', position };
      this.events.push({ request_id, ...draft, ...envelope });
    }
  }
}

const claimId = (subject: string, generation: number): string => `clm-${subject}-${generation}`;

function withReference(
  command: SubjectCommand,
  { subject, generation, sha256 }: HistoryRequest,
): SubjectCommand {
  if (command.type !== 'submit') return command;
  const work_product_ref = workProductRef(subject, generation ?? 0, sha256 ?? '');
  return { ...command, result: { ...command.result, work_product_ref } };
}

function outcomeOfDecision(
  { ok, code, next, head, details }: Decision,
  { operation, subject }: HistoryRequest,
): RecordedOutcome {
  const resumed = details.replayed === true && operation === 'claim';
  const expiresAtMs = resumed ? next.claim?.expires_at_ms : details.expires_at_ms;
  const expiresAt = expiresAtMs == null ? null : isoTime(expiresAtMs);
  const isGranted = operation === 'claim' && ok;
  const reply: RecordedReplyFields = {
    ...(isGranted ? { generation: next.generation, claim_id: claimId(subject, next.generation) } : {}),
    ...(resumed ? { resumed } : {}),
    ...(ok && expiresAt !== null ? { expires_at: expiresAt } : {}),
    ...(code === 'DENIED_ACTIVE_CLAIM'
      ? { holder: head.claim?.agent_id ?? null, expires_at: expiresAt }
      : {}),
    ...(operation === 'submit' && !ok ? { generation: head.generation } : {}),
    ...(details.limit === undefined ? {} : { limit: details.limit }),
  };
  return ok ? { kind: 'ok', reply_fields: reply } : { kind: 'refused', reason: code, reply_fields: reply };
}
