import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import type { RunEventPayload } from './run-events.js';
import type { Run } from './runs.js';

/**
 * Whether an edge cannot be claimed because it is completed or on hold. Either may be the effect of a person's decision on
 * the candidate of its run, and then the run has ended too.
 */
export const mayRecordDecision = (refusalCode: string): boolean =>
  refusalCode === 'DENIED_COMPLETED' || refusalCode === 'DENIED_HELD';

type RunSteps = Pick<Run, 'run_id' | 'started_at' | 'steps'>;

type DecidedEnd = Pick<RunEventPayload<'run_ended'>, 'status' | 'reason' | 'says'>;

/**
 * The end of an open run whose edge was decided while no process waited for the decision; null if the run has not ended.
 * `events` are those of the edge; `refusalCode` is the reason why the edge cannot be claimed. If the edge is on hold for
 * another reason than a rejected candidate, the run has not ended: it continues when the hold is lifted.
 */
export function decidedEnd(
  run: RunSteps,
  events: readonly EventEnvelope[],
  refusalCode: string,
): DecidedEnd | null {
  if (refusalCode === 'DENIED_COMPLETED') {
    if (run.started_at === null)
      return { status: 'CANCELLED', reason: null, says: 'The edge had converged before the run started.' };
    const result = events.findLast(({ event_type }) => RESULT_KINDS.has(claimEventKindOf(event_type)));
    return isResultOf(run, result)
      ? { status: 'CONVERGED', reason: null, says: 'The candidate was accepted.' }
      : { status: 'CANCELLED', reason: null, says: 'Another result of the edge was accepted.' };
  }
  return refusalCode === 'DENIED_HELD' ? rejectedEnd(run, events) : null;
}

/** The end of an open run whose edge was granted again; null if the run continues. */
export const endAfterNewGrant = (run: RunSteps, events: readonly EventEnvelope[]): DecidedEnd | null =>
  rejectedEnd(run, events) ?? resetEnd(run, events);

/** The end of a run whose accepted result an operator has reset: the run must not submit that candidate again. */
function resetEnd(run: RunSteps, events: readonly EventEnvelope[]): DecidedEnd | null {
  const eventsOfRun = edgeEventsSinceRun(events, run.run_id);
  const resetIndex = eventsOfRun.findLastIndex(({ event_type }) => claimEventKindOf(event_type) === 'reset');
  const hasAcceptedResult = eventsOfRun
    .slice(0, Math.max(resetIndex, 0))
    .some((event) => RESULT_KINDS.has(claimEventKindOf(event.event_type)) && isResultOf(run, event));
  return hasAcceptedResult
    ? { status: 'FAILED', reason: 'RESET', says: 'The accepted candidate was reset.' }
    : null;
}

/** How an open run has ended if a person has rejected its last candidate; null if it was not rejected. */
function rejectedEnd(run: RunSteps, events: readonly EventEnvelope[]): DecidedEnd | null {
  const review = edgeEventsSinceRun(events, run.run_id).findLast(
    ({ event_type }) => claimEventKindOf(event_type) === 'reviewed',
  );
  const { decision, candidate_sha256 } = review?.payload ?? {};
  if (decision !== 'REJECTED' || candidate_sha256 !== lastCandidateOf(run)) return null;
  return { status: 'ESCALATED', reason: 'REJECTED', says: 'The candidate was rejected.' };
}

/**
 * The events of the edge after the first event of this run, including those of later runs; all events if the
 * run has none. Earlier events are left out, because they may decide on the same candidate of an earlier run.
 */
export const edgeEventsSinceRun = (
  events: readonly EventEnvelope[],
  runId: string,
): readonly EventEnvelope[] => events.slice(events.findIndex(({ payload }) => payload.run_id === runId) + 1);

const RESULT_KINDS: ReadonlySet<unknown> = new Set(['accepted', 'adopted']);

/**
 * Whether a result is from this run. A result that the engine submitted names its run; one that a person adopted is
 * recognized by its digest.
 */
const isResultOf = (run: RunSteps, result: EventEnvelope | undefined): boolean =>
  result !== undefined &&
  (runIdOfResult(result.payload) === run.run_id || result.payload.result_sha256 === lastCandidateOf(run));

/** The id of the run that submitted a result; undefined if the result was not submitted by the engine. */
export const runIdOfResult = ({ result_metadata }: EventEnvelope['payload']): unknown =>
  (result_metadata as { run_id?: unknown } | undefined)?.run_id;

/** The digest of the last candidate that `lastConstruction` finds; null if it finds none. */
function lastCandidateOf({ steps }: RunSteps): string | null {
  const output = lastConstruction(steps)?.output;
  return typeof output?.sha256 === 'string' ? output.sha256 : null;
}

/** The step that constructed the last candidate; undefined if there is none. Steps whose output is a blob do not count. */
export const lastConstruction = (steps: Run['steps']): Run['steps'][number] | undefined =>
  steps
    .filter(({ step, output }) => step === 'construct_candidate' && output !== null)
    .toSorted((a, b) => a.iteration - b.iteration)
    .at(-1);
