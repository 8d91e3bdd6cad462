import type { EventEnvelope } from '../../core/events/envelope.js';
import { EventIndex } from '../event-index.js';
import { ProjectLedger } from '../ledger.js';
import { matcher } from '../matches.js';
import type { TenantSlots } from '../slots.js';
import type { EventQuery, Outcome, ProjectKey, Unit } from '../store.js';

/** One project: its ledger, and the events themselves by position. */
export class MemoryProject {
  readonly ledger: ProjectLedger;
  private readonly index = new EventIndex();
  private readonly log: EventEnvelope[] = [];

  constructor(key: ProjectKey, slots: TenantSlots) {
    this.ledger = new ProjectLedger(key, slots);
  }

  commit(unit: Unit, now_ms: number): Outcome {
    const { outcome, events } = this.ledger.apply(unit, now_ms);
    for (const event of events) {
      this.log.push(event);
      this.index.add(event.position, event.subject, event.session_id);
    }
    return outcome;
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
}
