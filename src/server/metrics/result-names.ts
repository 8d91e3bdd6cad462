/** Refusal codes as the metrics of seed 004 §8.1 name them; a code that has no name there is spelled in lower case. */
const RESULT_NAMES: Readonly<Record<string, string>> = {
  DENIED_ACTIVE_CLAIM: 'denied_active',
  DENIED_COMPLETED: 'denied_completed',
};

export const resultName = (code: string): string => RESULT_NAMES[code] ?? code.toLowerCase();

/** The code of an answer: a decision's reason, or the problem that kept it from one. */
export function replyCodeOf(reply: unknown): string {
  const { reason, problem } = reply as { reason?: string; problem?: string };
  return reason ?? problem ?? 'DONE';
}
