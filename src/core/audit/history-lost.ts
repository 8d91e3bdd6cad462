import { z } from 'zod';
import { nameSchema, nonNegativeInteger, sentenceSchema } from '../events/fields.js';
import { recordSignature } from './signed-record.js';

/** Allowance for lost events after the last anchor, added to the number of events that are known to be lost. */
const UNANCHORED_EVENTS = 1_000_000;

/** The payload of `HISTORY_LOST`: an operator continues a log that is behind its anchors, or differs from them. */
export const historyLostPayload = z.strictObject({
  by: nameSchema,
  reason: sentenceSchema,
  /** The incarnation of the store from here on. Anchors of earlier incarnations do not apply after `kept_position`. */
  incarnation: nonNegativeInteger,
  /** The last position at which the log agrees with an anchor, or the end of the log. */
  kept_position: nonNegativeInteger,
  /** The number of events known to be lost: those that the last anchor covers beyond `kept_position`. */
  lost_events: nonNegativeInteger,
  record: z.strictObject({
    /** Every later generation is above this number. */
    generation_floor: nonNegativeInteger,
  }),
  ...recordSignature,
});
export type LossOfHistory = z.infer<typeof historyLostPayload>;

/** A loss, and where the log records it. */
export type RecordedLoss = LossOfHistory & { readonly position: number };

/** Whether a checkpoint covers history that was lost, so that the log need not agree with it. */
export const isOfLostHistory = (
  losses: readonly LossOfHistory[],
  { incarnation, position }: { readonly incarnation: number; readonly position: number },
): boolean => losses.some((loss) => incarnation < loss.incarnation && position > loss.kept_position);

export const HISTORY_LOST_EVENT = 'HISTORY_LOST';

/**
 * The floor of generations after a loss: every later grant is above it. A lost event raised a generation by at most one, so
 * the lost grants are at most the first operand, unless more than `UNANCHORED_EVENTS` events followed the last anchor. The
 * exception is the first grant after an earlier loss: it jumps above that loss's floor. The second operand, the time in
 * seconds, exceeds such an earlier floor even if its record is lost.
 */
export const floorAfterLoss = (highestGeneration: number, lostEvents: number, nowMs: number): number =>
  Math.max(highestGeneration + lostEvents + UNANCHORED_EVENTS, Math.ceil(nowMs / 1000));
