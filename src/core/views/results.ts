import { adoptedResultId } from '../claims/adopted-from.js';
import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { PastGrant } from '../claims/commands.js';
import { submittedResultOf } from '../claims/evolve.js';
import type { SubmittedResult } from '../claims/head.js';
import type { TaskResult } from '../contract/tasks.js';
import { type EventEnvelope, msOf } from '../events/envelope.js';
import type { ClaimEvent } from '../events/known-event.js';
import { planPositionOf } from '../plan/plan-position.js';
import { claimEvents } from './claim-events.js';

/** All results of a subject, in the order in which they were decided. */
export const resultsOf = (events: readonly EventEnvelope[]): TaskResult[] =>
  [...claimEvents(events)].flatMap((one) =>
    one.kind === 'accepted' || one.kind === 'adopted' || one.kind === 'result_refused' ? taskResult(one) : [],
  );

function taskResult({ event, payload }: ClaimEvent<'accepted' | 'adopted' | 'result_refused'>): TaskResult {
  const denied = 'rejection_reason' in payload ? payload : null;
  return {
    id: payload.result_id,
    tenant_id: event.tenant_id,
    project_id: event.project_id,
    ...planPositionOf(event.subject ?? ''),
    generation: denied?.submitted_generation ?? event.generation ?? 0,
    session_id: event.session_id ?? '',
    agent_id: event.agent_id,
    work_product_ref: payload.work_product_ref,
    result_data: payload.result_data ?? null,
    blob_sha256: payload.blob_sha256 ?? null,
    metadata: payload.result_metadata ?? {},
    submitted_at: event.timestamp,
    accepted: denied === null,
    rejection_reason: denied?.rejection_reason ?? null,
    current_generation: denied?.current_generation ?? null,
    parked: denied?.parked ?? false,
  };
}

/** The grant of a generation; null if it was never granted. */
export function pastGrant(events: readonly EventEnvelope[], generation: number): PastGrant | null {
  const grant = events.find(
    (event) => event.generation === generation && claimEventKindOf(event.event_type) === 'granted',
  );
  if (grant === undefined) return null;
  return {
    generation,
    agent_id: grant.agent_id,
    session_id: grant.session_id ?? '',
    agent_role: grant.agent_role ?? null,
    request_id: grant.request_id ?? null,
    claimed_at_ms: msOf(grant.timestamp),
  };
}

/** Parked results that have not been adopted. */
export function parkedResults(events: readonly EventEnvelope[]): TaskResult[] {
  const parked = new Map<string, TaskResult>();
  for (const one of claimEvents(events)) {
    if (one.kind === 'result_refused' && one.payload.parked)
      parked.set(one.payload.result_id, taskResult(one));
    if (one.kind === 'adopted') parked.delete(adoptedResultId(one.payload.adopted_from) ?? '');
  }
  return [...parked.values()];
}

/** A refused result as it was submitted; null if no refusal has this id. */
export function refusedResult(events: readonly EventEnvelope[], resultId: string): SubmittedResult | null {
  for (const { kind, payload } of claimEvents(events)) {
    if (kind === 'result_refused' && payload.result_id === resultId) return submittedResultOf(payload);
  }
  return null;
}

/** The result that counts: the last one that was accepted. */
export const acceptedResult = (results: readonly TaskResult[]): TaskResult | undefined =>
  results.findLast(({ accepted }) => accepted);

/** The result of a generation: the accepted one, else the last that was refused. */
export function resultOfGeneration(
  results: readonly TaskResult[],
  generation: number,
): TaskResult | undefined {
  const ofGeneration = results.filter((result) => result.generation === generation);
  return acceptedResult(ofGeneration) ?? ofGeneration.at(-1);
}
