import { adoptedResultId } from '../claims/adopted-from.js';
import type { EventEnvelope } from '../events/envelope.js';
import { asClaimEvent } from '../events/known-event.js';

/** Ids of parked results by subject; no entry if there are none. */
export type ParkedIds = Map<string, Set<string>>;

/** Updates the parked results, which are kept until they are adopted. Idempotent. */
export function updateParked(parked: ParkedIds, event: EventEnvelope): void {
  const { subject } = event;
  if (subject === undefined) return;
  const claimEvent = asClaimEvent(event);
  if (claimEvent?.kind === 'result_refused' && claimEvent.payload.parked) {
    parked.set(subject, (parked.get(subject) ?? new Set()).add(claimEvent.payload.result_id));
  }
  if (claimEvent?.kind === 'adopted') {
    const subjectIds = parked.get(subject);
    subjectIds?.delete(adoptedResultId(claimEvent.payload.adopted_from) ?? '');
    if (subjectIds?.size === 0) parked.delete(subject);
  }
}
