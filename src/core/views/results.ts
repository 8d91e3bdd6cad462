import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { PastGrant } from '../claims/commands.js';
import type { ClaimEventPayloads } from '../claims/payloads.js';
import type { EventEnvelope } from '../events/envelope.js';
import { dedupeEvents } from './dedupe-events.js';
import { type PlanPosition, planPositionOf } from './plan-position.js';

/** A submitted result and its outcome (seed 004 §4.2.1). */
export interface TaskResult extends PlanPosition {
  readonly id: string;
  readonly tenant_id: string;
  readonly project_id: string;
  readonly generation: number;
  readonly session_id: string;
  readonly agent_id: string;
  readonly work_product_ref: string;
  /** Null if the result is in a blob, or was refused and not kept. */
  readonly result_data: unknown;
  readonly blob_sha256: string | null;
  readonly submitted_at: string;
  readonly accepted: boolean;
  readonly rejection_reason: string | null;
  /** Generation in force when the result was refused; null if it was accepted. */
  readonly current_generation: number | null;
  readonly parked: boolean;
}

type ResultPayload =
  | ClaimEventPayloads['accepted']
  | ClaimEventPayloads['adopted']
  | ClaimEventPayloads['result_denied'];

/** All results of a subject, in the order in which they were decided. */
export function resultsOf(events: readonly EventEnvelope[]): TaskResult[] {
  return [...dedupeEvents(events)].filter(isResultEvent).map(taskResult);
}

function isResultEvent(event: EventEnvelope): boolean {
  const kind = claimEventKindOf(event.event_type);
  return kind === 'accepted' || kind === 'adopted' || kind === 'result_denied';
}

function taskResult(event: EventEnvelope): TaskResult {
  const payload = event.payload as unknown as ResultPayload;
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
  };
}

/** Parked results that have not been adopted. */
export function parkedResults(events: readonly EventEnvelope[]): TaskResult[] {
  const parked = new Map<string, TaskResult>();
  for (const event of dedupeEvents(events)) {
    const kind = claimEventKindOf(event.event_type);
    if (kind === 'result_denied' && event.payload.parked === true) {
      const result = taskResult(event);
      parked.set(result.id, result);
    }
    if (kind === 'adopted') {
      const { adopted_from } = event.payload as unknown as ClaimEventPayloads['adopted'];
      parked.delete(adopted_from.result_id);
    }
  }
  return [...parked.values()];
}
