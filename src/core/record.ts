import { type EventDraft, msOf } from './events/envelope.js';

/**
 * Head of a record that is not claimed work: the plan, the policy, the limits, a session. Each event carries the
 * complete new value, so the fold keeps the last one.
 */
export interface RecordHead {
  readonly subject: string;
  readonly seq: number;
  readonly value: Readonly<Record<string, unknown>>;
  readonly last_at_ms: number;
}

export function evolveRecord(before: RecordHead | null, event: EventDraft): RecordHead {
  return {
    subject: event.subject ?? '',
    seq: (before?.seq ?? 0) + 1,
    value: (event.payload.record ?? {}) as Readonly<Record<string, unknown>>,
    last_at_ms: msOf(event.timestamp),
  };
}
