import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import type { RunEventPayload } from './run-events.js';
import type { Run } from './runs.js';

/** Whether a person may have decided how a run ends: by the reason why its edge cannot be claimed. */
export const isDecided = (refusal: string): boolean =>
  refusal === 'DENIED_COMPLETED' || refusal === 'DENIED_HELD';

type RunSteps = Pick<Run, 'run_id' | 'started_at' | 'steps'>;

type DecidedEnd = Pick<RunEventPayload<'run_ended'>, 'status' | 'reason' | 'says'>;

/**
 * How an open run has ended while no process waited, by the events of its edge; null if it has not. `refusal`: the reason
 * why the edge cannot be claimed. An edge on hold for another reason than a rejected candidate ends no run: the run goes
 * on when the hold is lifted.
 */
export function decidedEnd(
  run: RunSteps,
  events: readonly EventEnvelope[],
  refusal: string,
): DecidedEnd | null {
  const candidate = lastCandidateOf(run);
  if (refusal === 'DENIED_COMPLETED') {
    if (run.started_at === null)
      return { status: 'CANCELLED', reason: null, says: 'The edge had converged before the run started.' };
    const result = events.findLast(({ event_type }) => RESULT_KINDS.has(claimEventKindOf(event_type)));
    return isResultOf(run, candidate, result)
      ? { status: 'CONVERGED', reason: null, says: 'The candidate was accepted.' }
      : { status: 'CANCELLED', reason: null, says: 'Another result of the edge was accepted.' };
  }
  return refusal === 'DENIED_HELD' && candidate !== null ? rejectedEnd(run, events) : null;
}

/** How an open run has ended if a person has rejected its last candidate; null if nobody has. */
export function rejectedEnd(run: RunSteps, events: readonly EventEnvelope[]): DecidedEnd | null {
  // The candidate of an earlier run may have been the same.
  const start = events.findIndex(({ payload }) => payload.run_id === run.run_id);
  const review = events.findLast(
    ({ event_type }, index) => index > start && claimEventKindOf(event_type) === 'reviewed',
  );
  const { decision, candidate_sha256 } = review?.payload ?? {};
  if (decision !== 'REJECTED' || candidate_sha256 !== lastCandidateOf(run)) return null;
  return { status: 'ESCALATED', reason: 'REJECTED', says: 'The candidate was rejected.' };
}

const RESULT_KINDS: ReadonlySet<unknown> = new Set(['accepted', 'adopted']);

/** An accepted result of the engine names its run. One that a person adopted is known by its digest. */
function isResultOf(
  { run_id }: RunSteps,
  candidate: string | null,
  result: EventEnvelope | undefined,
): boolean {
  const { result_sha256, result_metadata } = result?.payload ?? {};
  const metadata = result_metadata as { run_id?: unknown } | undefined;
  return metadata?.run_id === run_id || (candidate !== null && result_sha256 === candidate);
}

/** The digest of the last candidate; null if there is none, or the log has only a reference to it. */
function lastCandidateOf({ steps }: RunSteps): string | null {
  const made = steps.filter(({ step, output }) => step === 'construct_candidate' && output !== null);
  const last = made.toSorted((a, b) => a.iteration - b.iteration).at(-1);
  return typeof last?.output?.sha256 === 'string' ? last.output.sha256 : null;
}
