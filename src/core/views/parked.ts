import { factOf } from '../claims/facts.js';
import type { Payloads } from '../claims/payloads.js';
import type { EventEnvelope } from '../events/envelope.js';

/** The ids of refused results that are kept, by subject; no entry where there are none. */
export type ParkedIds = Map<string, Set<string>>;

/** Refused work is kept until somebody adopts it. The same event twice changes nothing. */
export function keepParked(parked: ParkedIds, event: EventEnvelope): void {
  const { subject } = event;
  if (subject === undefined) return;
  const fact = factOf(event.event_type);
  if (fact === 'result_denied' && event.payload.parked === true) {
    const { result_id } = event.payload as unknown as Payloads['result_denied'];
    parked.set(subject, (parked.get(subject) ?? new Set()).add(result_id));
  }
  if (fact === 'adopted') {
    const { adopted_from } = event.payload as unknown as Payloads['adopted'];
    const kept = parked.get(subject);
    kept?.delete(adopted_from.result_id);
    if (kept?.size === 0) parked.delete(subject);
  }
}
