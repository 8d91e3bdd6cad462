import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import type { RecordedCall } from '../history.js';

export type HistoryRule =
  /** The log alone breaks this invariant. */
  | `INV-${string}`
  /** Confirmed to a client, but not in the log. */
  | 'LOST'
  /** One request took effect more than once. */
  | 'DOUBLED'
  /** The log differs from the reply. */
  | 'WRONG_REPLY'
  /** An event is in the log, but was never requested in this form. */
  | 'UNREQUESTED'
  /** An event is in the log, but every call of its request was refused or reported as not done. */
  | 'DONE_DESPITE_REFUSAL'
  /** The log reverses two calls although one returned before the other was invoked. */
  | 'ORDER'
  /** Refused for a reason that held at no moment between request and reply. */
  | 'NO_REASON'
  /** More live claims than the limit allows. */
  | 'LIMIT';

export interface HistoryViolation {
  readonly rule: HistoryRule;
  /** A sentence for the person who investigates the violation. */
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
