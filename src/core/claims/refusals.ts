/** Number of refusals that are recorded in full, per subject, generation and principal. */
export const REFUSALS_RECORDED_MAX = 20;

/**
 * How the log records a refusal of a principal, by its ordinal under one generation of a subject: the first ones in full, then
 * a count whenever the number of those left out has doubled, so that endless refusals add only a few events.
 */
export function recordingOfRefusal(ordinal: number): 'full' | 'count' | null {
  if (ordinal <= REFUSALS_RECORDED_MAX) return 'full';
  const isPowerOfTwo = Number.isInteger(Math.log2(ordinal - REFUSALS_RECORDED_MAX));
  return isPowerOfTwo ? 'count' : null;
}
