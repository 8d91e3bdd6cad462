import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import { edgeEventsSinceRun } from './decided-end.js';
import type { Run } from './runs.js';

/**
 * The comment with which a person requested changes to the last candidate of a run, before the next run of the edge began.
 * Empty if there was no comment; null if the last decision on this candidate is another one, or there is none.
 */
export function requestedChanges(runId: string, events: readonly EventEnvelope[]): string | null {
  const eventsSinceRun = edgeEventsSinceRun(events, runId);
  const nextStartIndex = eventsSinceRun.findIndex(
    ({ event_type, payload }) => event_type === 'run_started' && payload.run_id !== runId,
  );
  const eventsOfRun = nextStartIndex === -1 ? eventsSinceRun : eventsSinceRun.slice(0, nextStartIndex);
  // If the edge waited for a person again after a decision, the decision was about an earlier candidate.
  const lastGateEvent = eventsOfRun.findLast(({ event_type }) =>
    GATE_AND_REVIEW_KINDS.has(claimEventKindOf(event_type)),
  );
  if (lastGateEvent === undefined || lastGateEvent.payload.decision !== 'CHANGES_REQUESTED') return null;
  return String(lastGateEvent.payload.comment ?? '');
}

const GATE_AND_REVIEW_KINDS: ReadonlySet<unknown> = new Set(['suspended', 'escalated', 'reviewed']);

/** The id of the escalated run that a new run revises, because a person requested changes; null if there is none. */
export function runToRevise(runs: readonly Run[], events: readonly EventEnvelope[]): string | null {
  const lastRun = runs.at(-1);
  if (lastRun?.status !== 'ESCALATED') return null;
  return requestedChanges(lastRun.run_id, events) === null ? null : lastRun.run_id;
}
