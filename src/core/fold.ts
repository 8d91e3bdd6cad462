import { evolve } from './claims/evolve.js';
import type { Head } from './claims/head.js';
import type { EventDraft } from './events/envelope.js';
import { evolveRecord, type RecordHead } from './record.js';
import { subjectKindOf } from './subject.js';

export type AnyHead = Head | RecordHead;

/**
 * Folds one event into the head of its subject: a task, an edge or a record. Stores that keep only events rebuild heads
 * with it.
 */
export function fold(before: AnyHead | null, event: EventDraft): AnyHead {
  return subjectKindOf(event.subject ?? '') === 'record'
    ? evolveRecord(before as RecordHead | null, event)
    : evolve(before as Head | null, event);
}
