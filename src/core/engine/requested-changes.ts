import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import { edgeEventsSinceRun } from './decided-end.js';
import type { Run } from './runs.js';

/**
 * The comment with which a person requested changes of the last candidate of a run, before the next run of the edge began.
 * Empty without a comment; null if the last decision was another one, or there is none.
 */
export function requestedChanges(runId: string, events: readonly EventEnvelope[]): string | null {
  const since = edgeEventsSinceRun(events, runId);
  const next = since.findIndex(
    ({ event_type, payload }) => event_type === 'run_started' && payload.run_id !== runId,
  );
  const ofRun = next === -1 ? since : since.slice(0, next);
  // A decision from before the last gate concerns an earlier candidate.
  const last = ofRun.findLast(({ event_type }) => GATE_KINDS.has(claimEventKindOf(event_type)));
  if (last === undefined || last.payload.decision !== 'CHANGES_REQUESTED') return null;
  return String(last.payload.comment ?? '');
}

const GATE_KINDS: ReadonlySet<unknown> = new Set(['suspended', 'escalated', 'reviewed']);

/** The id of the escalated run that a new run revises, because a person requested changes; null if there is none. */
export function runToRevise(runs: readonly Run[], events: readonly EventEnvelope[]): string | null {
  const last = runs.at(-1);
  if (last?.status !== 'ESCALATED') return null;
  return requestedChanges(last.run_id, events) === null ? null : last.run_id;
}
