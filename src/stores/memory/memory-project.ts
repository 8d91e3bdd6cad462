import type { EventEnvelope } from '../../core/events/envelope.js';
import { fold } from '../../core/fold.js';
import { EventIndex } from '../event-index.js';
import { matcher } from '../event-matcher.js';
import { ProjectLedger } from '../ledger.js';
import type { TenantPermits } from '../permits.js';
import type { CommitOutcome, EventQuery, FoldHead, ProjectKey, Transaction } from '../store.js';

/** One project: its ledger, and its events by position. */
export class MemoryProject {
  readonly ledger: ProjectLedger;
  private readonly index = new EventIndex();
  private readonly log: EventEnvelope[] = [];

  constructor(projectKey: ProjectKey, permits: TenantPermits) {
    this.ledger = new ProjectLedger(projectKey, permits);
  }

  commit(transaction: Transaction, nowMs: number): CommitOutcome {
    const { outcome, events, first_position } = this.ledger.apply(transaction, nowMs);
    let position = first_position;
    for (const event of events) {
      this.index.add(position, event.subject, event.session_id);
      // `position` comes first: spreading into a literal is four times as fast in this order (Node 20).
      this.log.push({ position, ...event });
      position += 1;
    }
    return outcome;
  }

  /** Applies an event from another log unchanged. */
  restore(event: EventEnvelope, nowMs: number): void {
    this.ledger.restore([event], {}, fold as FoldHead, nowMs);
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

  redact(events: readonly EventEnvelope[]): void {
    for (const event of events) this.log[event.position - 1] = event;
  }
}
