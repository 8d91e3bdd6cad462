import type { EventEnvelope } from '../../core/events/envelope.js';
import { EventIndex } from '../event-index.js';
import { ProjectLedger } from '../ledger.js';
import { matcher } from '../matches.js';
import type { TenantSlots } from '../slots.js';
import type { EventQuery, FoldHead, Outcome, ProjectKey, Unit } from '../store.js';

/** One project: its ledger, and the events themselves by position. */
export class MemoryProject {
  readonly ledger: ProjectLedger;
  private readonly index = new EventIndex();
  private readonly log: EventEnvelope[] = [];

  constructor(key: ProjectKey, slots: TenantSlots) {
    this.ledger = new ProjectLedger(key, slots);
  }

  commit(unit: Unit, now_ms: number): Outcome {
    const { outcome, events, first_position } = this.ledger.apply(unit, now_ms);
    let position = first_position;
    for (const event of events) {
      this.index.add(position, event.subject, event.session_id);
      // The position comes first because a spread onto a literal is four times as fast that way round (Node 20).
      this.log.push({ position, ...event });
      position += 1;
    }
    return outcome;
  }

  /** Takes over what another log holds, as it stands there. */
  restore(event: EventEnvelope, fold: FoldHead, now_ms: number): void {
    this.ledger.restore([event], {}, fold, now_ms);
    this.index.add(event.position, event.subject, event.session_id);
    this.log.push(event);
  }

  events(query: EventQuery): EventEnvelope[] {
    const matches = matcher(query);
    const found: EventEnvelope[] = [];
    for (const position of this.index.candidates(query)) {
      if (found.length >= query.limit) break;
      const event = this.log[position - 1] as EventEnvelope;
      if (matches(event)) found.push(event);
    }
    return found;
  }

  forget(events: readonly EventEnvelope[]): void {
    for (const event of events) this.log[event.position - 1] = event;
  }
}
