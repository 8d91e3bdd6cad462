import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import { runIdOfResult } from '../../core/engine/decided-end.js';
import type { Run } from '../../core/engine/runs.js';
import type { EventEnvelope } from '../../core/events/envelope.js';

/**
 * Whether the claim of an open run has ended by a decision on its candidate: the candidate was accepted, or a person has
 * rejected it. The steps that are left only conclude the run.
 */
export function hasDecision(run: Run, events: readonly EventEnvelope[]): boolean {
  return events.some(({ event_type, generation, payload }) => {
    if (generation !== run.generation) return false;
    const kind = claimEventKindOf(event_type);
    if (kind === 'reviewed')
      return payload.decision === 'REJECTED' && hasRequestedReviewIn(run, payload.iteration);
    return kind === 'accepted' && runIdOfResult(payload) === run.run_id;
  });
}

const hasRequestedReviewIn = ({ steps }: Run, iteration: unknown): boolean =>
  steps.some((step) => step.step === 'request_review' && step.iteration === iteration);

/** The accepted result of a run, or undefined. */
export const acceptedResultOf = (
  runId: string,
  events: readonly EventEnvelope[],
): EventEnvelope | undefined =>
  events.findLast(
    ({ event_type, payload }) =>
      claimEventKindOf(event_type) === 'accepted' && runIdOfResult(payload) === runId,
  );
