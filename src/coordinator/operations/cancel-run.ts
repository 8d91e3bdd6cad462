import type { z } from 'zod';
import { decide } from '../../core/claims/decide.js';
import { isLive, isOpenClaim } from '../../core/claims/lease.js';
import { adviceFor, type CancelRefusal } from '../../core/contract/codes.js';
import type { CancelRunResult, cancelRunBody, RunSummary } from '../../core/contract/runs.js';
import type { RunEventPayload } from '../../core/engine/run-events.js';
import { evolveRun } from '../../core/engine/run-summaries.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { subjectKeys } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { shortenSessionPermit, updateTrackPermits } from './shared.js';

/**
 * Cancels a run that has not ended. Its executor loses the claim in the same transaction, so that none of its later steps
 * is recorded. A run is cancelled once: the store remembers the first command.
 */
export class CancelRunOperation implements Operation<CancelRunResult> {
  readonly kind = 'cancel_run';
  readonly requestKey;

  constructor(
    private readonly run: RunSummary,
    private readonly body: z.output<typeof cancelRunBody>,
    private readonly caller: Caller,
  ) {
    this.requestKey = { key: `~run-cancelled/${run.run_id}`, digest: '' };
  }

  attempt(view: DecisionView): Attempt<CancelRunResult> {
    const { run } = this;
    const transaction = new TransactionBuilder(view, this.body.request_id).checkHead(run.task_id);
    if (run.ended_at !== null) return transaction.answer(this.requestKey, refusedCancellation('RUN_ENDED'));
    const by = actorOf(this.caller);
    if (run.started_at !== null && !this.endClaim(transaction, by)) {
      const next = `Another agent has claimed ${run.task_id} since, and may continue this run. Cancel the run when that agent has recorded a step, or end the agent's claim first: gen task force-release '${run.task_id}'`;
      return transaction.answer(null, refusedCancellation('GENERATION_MISMATCH', next));
    }
    const { comment } = this.body;
    const payload: RunEventPayload<'run_ended'> = {
      run_id: run.run_id,
      status: 'CANCELLED',
      reason: null,
      says: comment === undefined ? `Cancelled by ${by}.` : `Cancelled by ${by}: ${comment}`,
      iterations: run.iterations,
      spent: run.spent,
    };
    const draft = draftEvent(view, 'run_ended', by, payload);
    Object.assign(draft, { subject: run.task_id, ...subjectKeys(run.task_id) });
    transaction.addLooseEvent(draft);
    const ended = evolveRun(run, draft as EventEnvelope, payload) ?? run;
    return { transaction: transaction.build(this.requestKey), reply: cancelledReply(ended) };
  }

  replay(events: readonly EventEnvelope[]): CancelRunResult {
    const event = events.find(({ event_type }) => event_type === 'run_ended');
    const isSameRequest = event?.request_id !== undefined && event.request_id === this.body.request_id;
    if (!isSameRequest) return refusedCancellation('RUN_ENDED');
    const ended = evolveRun(this.run, event, event.payload as RunEventPayload<'run_ended'>);
    return cancelledReply(ended ?? this.run);
  }

  /**
   * Ends the claim of the run's executor, if it is open or has expired. Returns false if the edge was granted again since,
   * and the new claim is live.
   */
  private endClaim(transaction: TransactionBuilder, by: string): boolean {
    const { view } = transaction;
    const { task_id, generation } = this.run;
    const head = view.head(task_id);
    const context = view.decisionContext(task_id);
    if (head.generation !== generation) return !isLive(head, context.now_ms, context.rules);
    const { claim } = head;
    if (claim === null || !(isOpenClaim(claim) || claim.state === 'EXPIRED')) return true;
    const reason = `run ${this.run.run_id} was cancelled`;
    const command = { type: 'force_release', expected_generation: generation, reason, by } as const;
    const decision = decide(head, command, context);
    shortenSessionPermit(transaction, head);
    transaction.addDecision(decision);
    updateTrackPermits(transaction, decision);
    return decision.ok;
  }
}

const cancelledReply = (run: RunSummary): CancelRunResult => ({ success: true, reason: 'CANCELLED', run });

export const refusedCancellation = (reason: CancelRefusal, next = adviceFor(reason)): CancelRunResult => ({
  success: false,
  reason,
  next,
});
