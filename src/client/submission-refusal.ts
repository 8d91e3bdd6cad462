import { isClaimKept } from '../core/contract/codes.js';
import { type ApiProblem, isProblem, type SubmissionReply } from './replies.js';

/** Whether a retry is pointless, because the result itself was refused. A wrong key or address is not final. */
export const isFinalProblem = ({ status, code }: ApiProblem): boolean =>
  (status === 400 || status === 409 || status === 413) && !/^(HTTP|SIGNATURE)_/.test(code);

/**
 * The message with which the holder releases its claim after a refusal. Null if there is nothing to release: the result
 * is accepted, unanswered or waits for a person, or the claim is lost.
 */
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
