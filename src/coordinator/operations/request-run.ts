import type { z } from 'zod';
import { holdText } from '../../core/claims/lease.js';
import { adviceFor, type IterateRefusal } from '../../core/contract/codes.js';
import type { IterateResult, iterateBody, RunSummary } from '../../core/contract/runs.js';
import { compileMachine } from '../../core/engine/compile-machine.js';
import { type EdgePlan, edgePlan } from '../../core/engine/edge-plan.js';
import type { RunEventPayload } from '../../core/engine/run-events.js';
import { retryRefusal } from '../../core/engine/run-request.js';
import { evolveRun, openRunOf, type RunsState } from '../../core/engine/run-summaries.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { unknownRoleText } from '../../core/methodology/definition/unknown-role.js';
import { subjectKeys } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { contentEventId } from '../runtime/identity.js';
import { type Problem, problem } from '../wire/problem.js';
import { unknownEdgeText } from './edge-facts.js';

/** Takes the place of a subject when run ids are derived, so that no run id equals a claim id. */
const RUN_REQUESTS = '~run-request';

type ParsedIterateBody = z.output<typeof iterateBody>;
type Reply = IterateResult | Problem;

/**
 * Requests a run of an edge, which has one run at a time. Two requests at the same moment contain the same run number in
 * their request keys, so the store accepts only the first.
 */
export class RequestRunOperation implements Operation<Reply> {
  readonly kind = 'iterate';
  readonly requestKey;

  constructor(
    private readonly subject: string,
    private readonly body: ParsedIterateBody,
    private readonly state: RunsState,
    private readonly caller: Caller,
  ) {
    const number = (state.edges.get(subject)?.count ?? 0) + 1;
    this.requestKey = body.dry_run ? null : { key: `~run/${subject}/${number}`, digest: '' };
  }

  attempt(view: DecisionView): Attempt<Reply> {
    const transaction = new TransactionBuilder(view, this.body.request_id).checkHead(this.subject);
    const plan = this.planIn(view);
    if ('reason' in plan) return transaction.answer(null, plan);
    if (this.body.dry_run) return transaction.answer(null, dryRunResult(plan));
    const earlierReply = this.requestedBefore(view) ?? this.refusal(view, plan) ?? this.runUnderWay();
    if (earlierReply !== null) return transaction.answer(null, earlierReply);
    const run_id = this.runIdIn(view);
    const payload: RunEventPayload<'run_requested'> = { run_id, retry_of: this.body.retry_of ?? null };
    const draft = draftEvent(view, 'run_requested', actorOf(this.caller), payload);
    Object.assign(draft, { subject: this.subject, ...subjectKeys(this.subject) });
    Object.assign(draft, withoutUndefined({ agent_role: this.body.agent_role }));
    const run = evolveRun(undefined, { ...draft, position: 0 } as unknown as EventEnvelope, payload);
    transaction.addLooseEvent(draft);
    return {
      transaction: transaction.build(this.requestKey),
      reply: this.requestedReply('REQUESTED', run as RunSummary),
    };
  }

  /** The reply if a request for this run number was accepted before: the same request, or another one. */
  replay([event]: readonly EventEnvelope[]): Reply {
    if (event === undefined) throw new Error('the stored request of a run has no event');
    const run = evolveRun(undefined, event, event.payload as RunEventPayload<'run_requested'>);
    const isSameRequest = event.request_id !== undefined && event.request_id === this.body.request_id;
    return this.requestedReply(isSameRequest ? 'REQUESTED' : 'UNDER_WAY', run as RunSummary);
  }

  /** The plan of the edge, or why there is none. */
  private planIn(view: DecisionView): EdgePlan | Extract<IterateResult, { success: false }> {
    const { feature_id = '', edge = '' } = subjectKeys(this.subject);
    const { methodology } = view;
    if (methodology === null) return refusedReply('NOT_INITIALISED');
    const feature = view.feature(feature_id);
    if (feature === null)
      return refusedReply(
        'UNKNOWN_FEATURE',
        `There is no feature ${feature_id}. ${adviceFor('UNKNOWN_FEATURE')}`,
      );
    const unknownText = unknownEdgeText(view, this.subject);
    if (unknownText !== null) return refusedReply('UNKNOWN_EDGE', unknownText);
    return edgePlan(methodology, feature, edge, view.policy.evidence);
  }

  private refusal(view: DecisionView, plan: EdgePlan): IterateResult | null {
    const unknownText = this.unknownRoleText(view);
    if (unknownText !== null) return refusedReply('UNKNOWN_ROLE', unknownText);
    const { retry_of } = this.body;
    const retry = retry_of === undefined ? null : retryRefusal(this.state.runs.get(retry_of), this.subject);
    if (retry !== null) return refusedReply(retry);
    if (plan.construct === null) return refusedReply('NO_CONSTRUCTOR');
    const head = view.head(this.subject);
    if (head.phase === 'COMPLETED') return refusedReply('DENIED_COMPLETED');
    const hold = holdText(head, view.now_ms, view.rulesOf(this.subject));
    return hold === null ? null : refusedReply('DENIED_HELD', adviceFor('DENIED_HELD', this.subject));
  }

  /**
   * Why the requested role is unknown; null if it is not. The role of a credential is not checked, because it was not chosen
   * for this project.
   */
  private unknownRoleText({ methodology }: DecisionView): string | null {
    const { agent_role } = this.body;
    if (methodology === null || agent_role === undefined || this.caller.agent_role !== null) return null;
    return unknownRoleText(methodology, agent_role);
  }

  private runUnderWay(): IterateResult | null {
    const ids = this.state.edges.get(this.subject)?.open ?? [];
    const open = openRunOf([...ids].flatMap((id) => this.state.runs.get(id) ?? []));
    return open === undefined ? null : this.requestedReply('UNDER_WAY', open);
  }

  /**
   * The run that this request created before, whatever has become of it; a problem if the id of the request was used for
   * another run. Null if no run has the id.
   */
  private requestedBefore(view: DecisionView): Reply | null {
    if (this.body.request_id === undefined) return null;
    const run = this.state.runs.get(this.runIdIn(view));
    if (run === undefined || run.requested_at === null) return null;
    if (run.task_id === this.subject && run.retry_of === (this.body.retry_of ?? null))
      return this.requestedReply('REQUESTED', run);
    return problem('IDEMPOTENCY_CONFLICT', 'This request_id was used for another run. Use a new one.');
  }

  /**
   * Derived from the id of the request, so that a repeated request finds its run, and from a secret: an agent that could
   * predict the id could start a run under it first, and the request would be lost.
   */
  private runIdIn(view: DecisionView): string {
    const { request_id } = this.body;
    if (request_id === undefined) return view.newEventId();
    return contentEventId(['run', this.caller.principal, view.secretIdOf(RUN_REQUESTS, request_id)]);
  }

  private requestedReply(reason: 'REQUESTED' | 'UNDER_WAY', run: RunSummary): IterateResult {
    return { success: true, reason, run, next: `Execute it: ${genCommand('iterate', this.subject)}` };
  }
}

const refusedReply = (reason: IterateRefusal, next = adviceFor(reason)) =>
  ({ success: false, reason, next }) as const;

function dryRunResult(plan: EdgePlan): IterateResult {
  const { machine, workflow_type, reason: workflow_reason } = compileMachine(plan);
  const document: Readonly<Record<string, unknown>> = { ...machine };
  return {
    success: true,
    reason: 'DRY_RUN',
    checks: plan.checks,
    machine: document,
    workflow_type,
    workflow_reason,
  };
}
