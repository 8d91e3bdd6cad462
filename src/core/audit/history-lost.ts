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
 * The floor of generations after a loss. The lost history granted no generation above it, because an event raises a generation
 * by one, unless more than `UNANCHORED_EVENTS` events followed the last anchor. Only the first grant after an earlier loss
 * raises it further, to above the floor of that loss. So the floor is also at least the current time in seconds, which exceeds
 * an earlier floor of this kind even if its record is lost.
 */
export const floorAfterLoss = (highestGeneration: number, lostEvents: number, nowMs: number): number =>
  Math.max(highestGeneration + lostEvents + UNANCHORED_EVENTS, Math.ceil(nowMs / 1000));
