import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { ClaimEventPayloads } from '../claims/payloads.js';
import type { EventEnvelope } from '../events/envelope.js';

/** Ids of parked results by subject; no entry if there are none. */
export type ParkedIds = Map<string, Set<string>>;

/** Updates the parked results: kept until adopted. Idempotent. */
export function updateParked(parked: ParkedIds, event: EventEnvelope): void {
  const { subject } = event;
  if (subject === undefined) return;
  const kind = claimEventKindOf(event.event_type);
  if (kind === 'result_denied' && event.payload.parked === true) {
    const { result_id } = event.payload as unknown as ClaimEventPayloads['result_denied'];
    parked.set(subject, (parked.get(subject) ?? new Set()).add(result_id));
  }
  if (kind === 'adopted') {
    const { adopted_from } = event.payload as unknown as ClaimEventPayloads['adopted'];
    const subjectIds = parked.get(subject);
    subjectIds?.delete(adopted_from.result_id);
    if (subjectIds?.size === 0) parked.delete(subject);
  }
}
