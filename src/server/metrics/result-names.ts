/** Denial codes under their names in seed 004 §8.1; other codes are lower-cased. */
const RESULT_NAMES: Readonly<Record<string, string>> = {
  DENIED_ACTIVE_CLAIM: 'denied_active',
  DENIED_COMPLETED: 'denied_completed',
};

export const resultName = (code: string): string => RESULT_NAMES[code] ?? code.toLowerCase();

/** A reply's code: the decision's reason, or the problem. */
export function replyCodeOf(reply: unknown): string {
  const { reason, problem } = reply as { reason?: string; problem?: string };
  return reason ?? problem ?? 'DONE';
}
