import type { z } from 'zod';
import type { ClaimsCommand, Decision, OperatorFields } from '../../core/claims/commands.js';
import { decide } from '../../core/claims/decide.js';
import { resultOf } from '../../core/claims/evolve.js';
import { factOf } from '../../core/claims/facts.js';
import type { ResultFields } from '../../core/claims/payloads.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { parkedResults, pastGrant, type TaskState } from '../../core/views/index.js';
import { adviceFor } from '../advice.js';
import type { Caller } from '../caller.js';
import { refusedByPrograms } from '../convergence-facts.js';
import type { Desk } from '../desk.js';
import { fenceSharing } from '../edge-facts.js';
import { isKnown, notKnown } from '../facts.js';
import type { Attempt, Needs, Operation } from '../operation.js';
import type { Problem } from '../problem.js';
import { stateOf } from '../queries/task.js';
import { invalidLease } from '../render.js';
import { UnitBuilder } from '../unit-builder.js';
import type { OperatorVerb, operatorBodies } from '../wire.js';
import { claimCommand } from './claim.js';
import { countSession, countTrackAgent, requestOf } from './shared.js';

export type OperatorRequest = {
  [Verb in OperatorVerb]: { verb: Verb; body: z.infer<(typeof operatorBodies)[Verb]> };
}[OperatorVerb];

/** The task as it is now, and whether the command did it. */
export interface OperatorResult extends TaskState {
  success: boolean;
  reason: string;
  next?: string;
}

/** A human's command over a subject: force_release, reassign, reset, hold, unhold, adopt. */
export class OperatorOperation implements Operation<OperatorResult | Problem> {
  readonly kind;
  readonly request;
  private history: readonly EventEnvelope[] | null = null;

  constructor(
    private readonly subject: string,
    private readonly asked: OperatorRequest,
    private readonly caller: Caller,
    private readonly historyOf: (subject: string) => Promise<readonly EventEnvelope[]>,
  ) {
    this.kind = asked.verb;
    this.request = requestOf(caller, asked.verb, { ...asked.body, ...{ subject } });
  }

  attempt(desk: Desk): Attempt<OperatorResult | Problem> | Needs {
    const { body } = this.asked;
    if (!isKnown(desk, this.subject) && desk.head(this.subject).seq === 0) {
      const unit = new UnitBuilder(desk).check(this.subject, 0);
      return { unit: unit.build(this.request), reply: notKnown(desk, this.subject) };
    }
    if (this.history === null) return { needs: () => this.readHistory() };
    const decision = decide(desk.head(this.subject), this.command(desk), desk.context(this.subject));
    const unit = new UnitBuilder(desk, body.request_id ?? null);
    const { claim } = decision.next;
    if (decision.code === 'REASSIGNED' && claim !== null) {
      unit.session(claim.session_id, claim.agent_id, this.caller, desk.now_ms);
      countSession(unit, desk, decision);
    }
    unit.decided(decision);
    countTrackAgent(unit, desk, decision);
    fenceSharing(unit, desk, decision);
    const reply = this.render(desk, decision);
    return { unit: unit.build(this.request, reply), reply };
  }

  replay(): OperatorResult {
    throw new Error('an operator’s command is remembered with its reply');
  }

  private command(desk: Desk): ClaimsCommand {
    const { asked, caller, subject } = this;
    const by = caller.user_id ?? caller.principal;
    const fields: OperatorFields = {
      expected_generation: asked.body.expected_generation,
      reason: asked.body.reason,
      by,
    };
    const request_id = asked.body.request_id ?? null;
    switch (asked.verb) {
      case 'reassign': {
        const { type: _, ...to } = claimCommand(desk, { subject, body: asked.body }, caller);
        return { type: 'reassign', ...fields, to };
      }
      case 'adopt': {
        const parked = this.parked(asked.body.result_id);
        const failing = refusedByPrograms(desk, subject, parked?.result.evidence?.evaluators);
        return { type: 'adopt', ...fields, session_id: by, request_id, parked, failing };
      }
      default:
        return { type: asked.verb, ...fields };
    }
  }

  private parked(result_id: string) {
    const events = this.history ?? [];
    const kept = parkedResults(events).find(({ id }) => id === result_id);
    const told = events.find((event) => event.payload.result_id === result_id && isRefusedResult(event));
    const grant = kept === undefined ? null : pastGrant(events, kept.generation);
    if (told === undefined || grant === null) return null;
    return { ...grant, result: resultOf(told.payload as unknown as ResultFields) };
  }

  /** Read once: what it is needed for, the past grants and the parked work, only ever grows. */
  private async readHistory(): Promise<void> {
    this.history = await this.historyOf(this.subject);
  }

  private render(desk: Desk, decision: Decision): OperatorResult | Problem {
    if (decision.code === 'INVALID_LEASE') return invalidLease();
    const kept = parkedResults(this.history ?? []).length - (decision.code === 'ADOPTED' ? 1 : 0);
    const state = stateOf(desk, decision.next, Math.max(kept, 0));
    const base = { success: decision.ok, reason: decision.code, ...state };
    return decision.ok
      ? base
      : { ...base, next: decision.details.says ?? adviceFor(decision.code, decision.head.subject) };
  }
}

const isRefusedResult = (event: EventEnvelope): boolean => factOf(event.event_type) === 'result_denied';
