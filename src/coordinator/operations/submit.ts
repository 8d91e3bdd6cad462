import type { ClaimHandle, PastGrant, SubmitFacts } from '../../core/claims/commands.js';
import { verifiedGrant } from '../../core/claims/decide/submit.js';
import { decide } from '../../core/claims/decide.js';
import type { Head, SubmittedResult } from '../../core/claims/head.js';
import type { SubmitBody } from '../../core/contract/claim-bodies.js';
import type { SubmissionResult } from '../../core/contract/claim-replies.js';
import type { ChangedFile } from '../../core/engine/guarded-check-files.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { subjectKindOf } from '../../core/subject.js';
import { parkedResults, pastGrant } from '../../core/views/index.js';
import type { Transaction } from '../../stores/store.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import { stepOf } from '../queue/direct-decision.js';
import type { Attempt, DirectDecision, NeedsFetch, Operation, RequestKey } from '../queue/operation.js';
import { RefusalRecorder } from '../queue/refusal-recorder.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Problem } from '../wire/problem.js';
import { claimedRoleProblem, convergenceFacts, evidenceFrom } from './convergence-facts.js';
import { checkEvidenceRecords } from './edge-evidence.js';
import { inputsDigest, isKnownSubject } from './facts.js';
import { renderSubmissionResult } from './render.js';
import { addAction, type RequestFields, requestKeyOf } from './shared.js';

const TASK_FACTS = { authority: 'granted' } as const;
/** Maximum number of parked results per subject and agent. */
const PARKED_PER_AGENT_MAX = 16;

interface SubmitRequest {
  readonly subject: string;
  readonly handle: ClaimHandle;
  readonly result: SubmittedResult;
  readonly body: SubmitBody & RequestFields;
  /** Files that the result changes, relative to the project's root. */
  readonly files: readonly ChangedFile[];
  readonly caller: Caller;
}

export class SubmitOperation implements Operation<SubmissionResult | Problem> {
  readonly kind = 'submit';
  /** Null unless the result was pushed, because a result is accepted only once anyway. */
  readonly requestKey: RequestKey | null;
  /** What the log says about a late submitter: its grant, and whether it has the maximum number of parked results. */
  private grantHistory: { grant: PastGrant | null; is_parking_full: boolean } | null = null;

  private readonly recorder: RefusalRecorder;

  constructor(
    private readonly submitRequest: SubmitRequest,
    private readonly readEvents: () => Promise<readonly EventEnvelope[]>,
  ) {
    const { caller, body } = submitRequest;
    this.recorder = new RefusalRecorder(caller, body.request_id);
    this.requestKey = body.offline === undefined ? null : requestKeyOf(caller, 'submit_result', body);
  }

  /** Decides the result of a task that was claimed without a role, if the credential is not limited to one either. */
  decideDirectly(view: DecisionView): DirectDecision<SubmissionResult> | null {
    const { subject, handle, result, body, caller } = this.submitRequest;
    if (body.offline !== undefined || body.signature !== undefined || subjectKindOf(subject) !== 'task')
      return null;
    const head = view.head(subject);
    if (caller.agent_role !== null || head.claim === null || head.claim.agent_role !== null) return null;
    const facts = this.taskFacts(view, subject);
    const command = { type: 'submit', handle, result, facts, sender: actorOf(caller) } as const;
    const decision = decide(head, command, view.decisionContext(subject));
    const step = stepOf(view, decision, null, body.request_id);
    return step === null ? null : { decision, step, reply: renderSubmissionResult(decision) };
  }

  private taskFacts(view: DecisionView, subject: string): SubmitFacts {
    return {
      inputs: inputsDigest(view, subject),
      past_grant: null,
      ...TASK_FACTS,
      iteration: this.submitRequest.body.iteration ?? 1,
      is_parking_full: false,
      is_permit_limit_reached: view.reachedLimit !== null,
    };
  }

  attempt(view: DecisionView): Attempt<SubmissionResult | Problem> | NeedsFetch {
    const { subject, handle, body, caller } = this.submitRequest;
    const head = view.head(subject);
    const context = view.decisionContext(subject);
    const past_grant = this.grantHistory?.grant ?? null;
    const forbidden = claimedRoleProblem(verifiedGrant(head, handle, past_grant, context), caller);
    if (forbidden !== null) {
      return new TransactionBuilder(view).checkHead(subject).answer(null, forbidden);
    }
    const result = this.resultWithEvidence(view);
    const facts: SubmitFacts = {
      inputs: inputsDigest(view, subject),
      past_grant,
      ...this.convergenceFactsOf(view, head, result),
      iteration: body.iteration ?? 1,
      is_parking_full: this.grantHistory?.is_parking_full ?? false,
      is_permit_limit_reached: view.reachedLimit !== null,
    };
    const command = { type: 'submit', handle, result, facts, sender: actorOf(caller) } as const;
    const decision = decide(head, command, context);
    // Refused work may belong to an earlier grant. Only the log shows that, and it is read once.
    if (decision.details.work_lost && this.grantHistory === null)
      return { needs: () => this.readGrantHistory() };
    const hasEventsToRecord = decision.loose_events.length > 0 && this.isKnown(view);
    const missing = hasEventsToRecord ? this.recorder.missingCounts(view, [decision]) : null;
    if (missing !== null) return missing;
    const recorder = hasEventsToRecord ? this.recorder : undefined;
    const transaction = new TransactionBuilder(view, body.request_id, recorder, body.offline);
    addAction(transaction, decision, body);
    checkEvidenceRecords(transaction, subject);
    // A refusal is not remembered, even if it records a sign of life: the next push of the command may be accepted.
    const isDelivered = decision.ok || decision.code === 'ESCALATED';
    return transaction.answer(isDelivered ? this.requestKey : null, renderSubmissionResult(decision));
  }

  shouldRepeat(transaction: Transaction, positions: readonly (number | null)[]): boolean {
    return this.recorder.shouldRepeat(transaction, positions);
  }

  withdraw(): void {
    this.recorder.withdraw();
  }

  /** A refusal about work that is not planned is not recorded: callers can make up any name. */
  private isKnown(view: DecisionView): boolean {
    const { subject } = this.submitRequest;
    return view.hasHead(subject) || isKnownSubject(view, subject);
  }

  private resultWithEvidence(view: DecisionView): SubmittedResult {
    const { result, body, subject } = this.submitRequest;
    const evidence = subjectKindOf(subject) === 'edge' ? evidenceFrom(body, view.methodology !== null) : null;
    return evidence === null ? result : { ...result, evidence };
  }

  /** The facts about roles and checks. A task needs neither. */
  private convergenceFactsOf(view: DecisionView, head: Head, { evidence }: SubmittedResult) {
    if (subjectKindOf(head.subject) !== 'edge') return TASK_FACTS;
    return convergenceFacts(view, head, { ...this.submitRequest, evidence });
  }

  private async readGrantHistory(): Promise<void> {
    const { handle, result } = this.submitRequest;
    const events = await this.readEvents();
    const grant = pastGrant(events, handle.generation);
    const parkedByAgent = parkedResults(events).filter((parked) => parked.agent_id === grant?.agent_id);
    const isRepeat = parkedByAgent.some((parked) => parked.id === result.result_id);
    this.grantHistory = { grant, is_parking_full: !isRepeat && parkedByAgent.length >= PARKED_PER_AGENT_MAX };
  }
}
