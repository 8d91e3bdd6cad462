/** Number of refusals that are recorded in full, per subject, generation and principal. */
export const REFUSALS_RECORDED_MAX = 20;

/**
 * What the log keeps of the n-th refusal of a principal under one generation of a subject: the first ones in full, then
 * a count whenever the number of those left out has doubled, so that endless refusals add only a few events.
 */
export function refusalRecord(n: number): 'full' | 'count' | null {
  if (n <= REFUSALS_RECORDED_MAX) return 'full';
  const isPowerOfTwo = Number.isInteger(Math.log2(n - REFUSALS_RECORDED_MAX));
  return isPowerOfTwo ? 'count' : null;
}
