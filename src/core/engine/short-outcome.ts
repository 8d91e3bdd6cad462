import type { CheckOutcome } from './check-outcome.js';

/**
 * Limits for the outcomes of an edge within the data of a run. A state passes on at most 256 KiB; the outcomes take 150 KiB
 * of them at most, which leaves about 100 KiB for everything else.
 */
export const OUTCOME_BYTES_MAX = 3 * 1024;
export const CHECKS_PER_EDGE_MAX = 50;

const bytesOf = (outcome: object): number => new TextEncoder().encode(JSON.stringify(outcome)).byteLength;

/** Reserved for `outcome_sha256` and `blocks`, which are added later. */
const ADDED_BYTES = 120;

/** The outcome without its issues, and with a beginning of `says` that fits; null if the outcome fits unchanged. */
export function shortOutcome(outcome: CheckOutcome): CheckOutcome | null {
  const bytesMax = OUTCOME_BYTES_MAX - ADDED_BYTES;
  if (bytesOf(outcome) <= bytesMax) return null;
  const { issues: _, ...short } = outcome;
  for (let length = short.says.length; length > 0; length = Math.floor(length / 2)) {
    const truncated = { ...short, says: short.says.slice(0, length) };
    if (bytesOf(truncated) <= bytesMax) return truncated;
  }
  return { ...short, says: '' };
}
