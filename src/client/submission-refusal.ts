import { isClaimKept } from '../core/contract/codes.js';
import { type ApiProblem, isProblem, type SubmissionReply } from './replies.js';

/** Whether the result itself was refused, so that a retry is pointless. A wrong key or address can still be corrected. */
export const isFinalProblem = ({ status, code }: ApiProblem): boolean =>
  (status === 400 || status === 409 || status === 413) && !/^(HTTP|SIGNATURE)_/.test(code);

/** Why the holder should release its claim; null if the result is accepted, unanswered, waits for a person or has lost its claim. */
export function releaseMessage(reply: SubmissionReply | ApiProblem): string | null {
  const isClaimStillHeld = isProblem(reply) ? isFinalProblem(reply) : isClaimKept(reply.reason);
  if (!isClaimStillHeld) return null;
  const detail = refusalDetail(reply);
  const code = isProblem(reply) ? reply.code : reply.reason;
  return `the result was refused (${code})${detail === null ? '' : `: ${detail}`}`;
}

/** Details beyond the code: the checks that have not passed, or the faults of the request. */
export function refusalDetail(reply: SubmissionReply | ApiProblem): string | null {
  if (isProblem(reply)) {
    const faults = (reply.faults ?? []).map(({ path, message }) => ` ${path}: ${message}`);
    return `${reply.detail}${faults.join(';')}`;
  }
  if (reply.reason !== 'NOT_CONVERGED') return null;
  return reply.failing.map(({ name, says }) => `${name}: ${says}`).join('; ');
}
