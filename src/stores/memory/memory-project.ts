import type { EventEnvelope } from '../../core/events/envelope.js';
import { fold } from '../../core/fold.js';
import { EventIndex } from '../event-index.js';
import { eventMatcher } from '../event-matcher.js';
import { type ApplyResult, ProjectLedger, type TransactionFields } from '../ledger.js';
import type { TenantPermits } from '../permits.js';
import type { EventQuery, FoldHead, ProjectKey, Transaction } from '../store.js';

/** One project: its ledger, and its events by position. */
export class MemoryProject {
  readonly ledger: ProjectLedger;
  private readonly index = new EventIndex();
  private readonly log: EventEnvelope[] = [];

  constructor(projectKey: ProjectKey, permits: TenantPermits) {
    this.ledger = new ProjectLedger(projectKey, permits);
  }

  apply(transaction: Transaction, nowMs: number): ApplyResult {
    const result = this.ledger.apply(transaction, nowMs);
    let position = result.first_position;
    for (const event of result.events) {
      this.index.add(position, event);
      // `position` comes first: spreading into a literal is four times as fast in this order (Node 20).
      this.log.push({ position, ...event });
      position += 1;
    }
    return result;
  }

  /** Applies a transaction that a log recorded, unchanged. */
  restore(events: readonly EventEnvelope[], fields: TransactionFields, nowMs: number): void {
    this.ledger.restore(events, fields, fold as FoldHead, nowMs);
    for (const event of events) {
      this.index.add(event.position, event);
      this.log.push(event);
    }
  }

  events(query: EventQuery): EventEnvelope[] {
    const matches = eventMatcher(query);
    const matching: EventEnvelope[] = [];
    for (const position of this.index.candidates(query)) {
      if (matching.length >= query.limit) break;
      const event = this.log[position - 1] as EventEnvelope;
      if (matches(event)) matching.push(event);
    }
    return matching;
  }

  redact(events: readonly EventEnvelope[]): void {
    for (const event of events) this.log[event.position - 1] = event;
  }
}
