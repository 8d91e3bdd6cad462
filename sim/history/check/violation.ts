import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import type { RecordedCall } from '../history.js';

export type HistoryRule =
  /** The log breaks this invariant by itself. */
  | `INV-${string}`
  /** Told as done, and not in the log. */
  | 'LOST'
  /** One request took effect more than once. */
  | 'DOUBLED'
  /** The log says something else than the client was told. */
  | 'TOLD_WRONG'
  /** In the log, and nobody asked for it, or not for this. */
  | 'UNASKED'
  /** Refused, or said not to have happened, and in the log. */
  | 'DONE_ALL_THE_SAME'
  /** The log puts after what had ended before the other was begun. */
  | 'ORDER'
  /** Refused for a reason that did not hold at any moment between question and answer. */
  | 'NO_REASON'
  /** More live claims than there may be. */
  | 'LIMIT';

export interface HistoryViolation {
  readonly rule: HistoryRule;
  /** A sentence for the person who has to find out why. */
  readonly message: string;
  readonly calls: readonly RecordedCall[];
  readonly events: readonly EventEnvelope[];
}

export const violation = (
  rule: HistoryRule,
  message: string,
  calls: readonly RecordedCall[],
  events: readonly EventEnvelope[] = [],
): HistoryViolation => ({ rule, message, calls, events });
