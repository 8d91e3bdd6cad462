import type { z } from 'zod';
import type { Decision, OperatorFields, SubjectCommand } from '../../core/claims/commands.js';
import { decide } from '../../core/claims/decide.js';
import type { LastClaim } from '../../core/claims/head.js';
import { isOpenClaim } from '../../core/claims/lease.js';
import { adviceFor, type OperatorRefusal, type OperatorSuccess } from '../../core/contract/codes.js';
import type { OperatorResult, OperatorVerb, operatorBodies } from '../../core/contract/tasks.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { parkedResults, pastGrant } from '../../core/views/index.js';
import { refusedResult } from '../../core/views/results.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { taskStateOf } from '../queries/tasks.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, NeedsFetch, Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Problem } from '../wire/problem.js';
import { claimCommand } from './claim.js';
import { failingProgramChecks } from './convergence-facts.js';
import { checkEvidenceRecords } from './edge-evidence.js';
import { fenceOverlappingGrants } from './edge-facts.js';
import { isKnownSubject, unknownSubjectProblem } from './facts.js';
import { invalidLeaseProblem } from './render.js';
import { extendSessionPermit, requestKeyOf, shortenSessionPermit, updateTrackPermits } from './shared.js';

export type OperatorRequest = {
  [Verb in OperatorVerb]: { verb: Verb; body: z.infer<(typeof operatorBodies)[Verb]> };
}[OperatorVerb];

/** An operator's command on a subject: force_release, reassign, reset, hold, unhold, adopt. */
export class OperatorOperation implements Operation<OperatorResult | Problem> {
  readonly kind;
  readonly requestKey;
  private history: readonly EventEnvelope[] | null = null;

  constructor(
    private readonly subject: string,
    private readonly request: OperatorRequest,
    private readonly caller: Caller,
    private readonly readEvents: () => Promise<readonly EventEnvelope[]>,
  ) {
    this.kind = request.verb;
    this.requestKey = requestKeyOf(caller, request.verb, { ...request.body, ...{ subject } });
  }

  attempt(view: DecisionView): Attempt<OperatorResult | Problem> | NeedsFetch {
    const { body } = this.request;
    if (!isKnownSubject(view, this.subject) && view.head(this.subject).seq === 0) {
      const transaction = new TransactionBuilder(view).addCheck(this.subject, 0);
      return transaction.answer(this.requestKey, unknownSubjectProblem(view, this.subject));
    }
    if (this.history === null) return { needs: () => this.readHistory() };
    const decision = decide(
      view.head(this.subject),
      this.buildCommand(view),
      view.decisionContext(this.subject),
    );
    const transaction = new TransactionBuilder(view, body.request_id);
    const { claim } = decision.next;
    if (decision.code === 'REASSIGNED' && claim !== null) {
      this.openOrCheckSession(transaction, claim);
      extendSessionPermit(transaction, decision);
    } else if (claim !== null && !isOpenClaim(claim)) {
      shortenSessionPermit(transaction, decision.head);
    }
    transaction.addDecision(decision);
    updateTrackPermits(transaction, decision);
    fenceOverlappingGrants(transaction, decision);
    if (this.request.verb === 'adopt') checkEvidenceRecords(transaction, this.subject);
    return transaction.answer(this.requestKey, this.render(view, decision));
  }

  /**
   * Checks the session of the new holder. With authentication, a session that does not exist is left for its own agent to
   * open, who then controls it. Without authentication it is opened here, because every caller controls it.
   */
  private openOrCheckSession(transaction: TransactionBuilder, { session_id, agent_id }: LastClaim): void {
    const { subject, record } = transaction.view.lookUpSession(session_id);
    if (record === null && !this.caller.claim_id_optional) transaction.addCheck(subject, 0);
    else transaction.openOrCheckSession(session_id, agent_id, this.caller);
  }

  private buildCommand(view: DecisionView): SubjectCommand {
    const { request, caller, subject } = this;
    const by = actorOf(caller);
    const fields: OperatorFields = {
      expected_generation: request.body.expected_generation,
      reason: request.body.reason,
      by,
    };
    const request_id = request.body.request_id ?? null;
    switch (request.verb) {
      case 'reassign': {
        const { type: _, ...to } = claimCommand(view, { subject, body: request.body }, caller);
        return { type: 'reassign', ...fields, to };
      }
      case 'adopt': {
        const adopted = this.findParkedResult(request.body.result_id);
        const failing = adopted === null ? [] : failingOf(view, subject, adopted);
        return { type: 'adopt', ...fields, session_id: by, request_id, adopted, failing };
      }
      default:
        return { type: request.verb, ...fields };
    }
  }

  private findParkedResult(resultId: string) {
    const events = this.history ?? [];
    const parkedResult = parkedResults(events).find(({ id }) => id === resultId);
    const grant = parkedResult === undefined ? null : pastGrant(events, parkedResult.generation);
    const result = refusedResult(events, resultId);
    if (grant === null || result === null) return null;
    const { generation, agent_id, session_id } = grant;
    return { from: { result_id: resultId, generation, agent_id, session_id }, result };
  }

  /**
   * Reads the history once. Later events can add past grants and parked results. Only an adoption takes a parked result
   * away, but it also completes the work, and completed work refuses another adoption.
   */
  private async readHistory(): Promise<void> {
    this.history = await this.readEvents();
  }

  private render(view: DecisionView, decision: Decision): OperatorResult | Problem {
    if (decision.code === 'INVALID_LEASE') return invalidLeaseProblem(decision);
    const parkedCount = parkedResults(this.history ?? []).length - (decision.code === 'ADOPTED' ? 1 : 0);
    const state = taskStateOf(view, decision.next, Math.max(parkedCount, 0));
    if (decision.ok) return { success: true, reason: decision.code as OperatorSuccess, ...state };
    const reason = decision.code as OperatorRefusal;
    const next = decision.details.says ?? adviceFor(reason, decision.head.subject);
    return { success: false, reason, ...state, next };
  }
}

type AdoptedResult = NonNullable<SubjectCommand<'adopt'>['adopted']>;

function failingOf(view: DecisionView, subject: string, { from, result }: AdoptedResult) {
  const generation = 'generation' in from ? from.generation : 0;
  const judged = { subject, generation, sha256: result.sha256 };
  return failingProgramChecks(view, judged, result.evidence?.evaluators);
}
