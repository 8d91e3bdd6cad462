import type { SubmissionResult } from '../../core/contract/claim-replies.js';
import { isBlocking } from '../../core/engine/check-outcome.js';
import type { StepCall } from '../runs/step-runner.js';
import { edgePlanOf } from './run-state.js';
import type { EngineServices } from './services.js';
import { submitCandidate } from './submission.js';
import { awaitVerifiedOutcomes } from './verified-outcomes.js';

/** Maximum number of submissions: the base may change again while runners run the checks. */
const SUBMISSIONS_MAX = 3;

/**
 * Submits the candidate. Under `verified`, evidence is void if another result was accepted since, or if another executor
 * has taken the run over. Then runners run the checks again, and the candidate is submitted again.
 */
export async function submitVerified(
  services: EngineServices,
  { data, signal }: Pick<StepCall, 'data' | 'signal'>,
): Promise<SubmissionResult> {
  const { evidence } = await edgePlanOf(services.blobs, data);
  for (let submission = 1; ; submission += 1) {
    const reply = await submitCandidate(services, data);
    const isVoid = !reply.accepted && reply.reason === 'NOT_CONVERGED' && evidence === 'verified';
    if (!isVoid || submission === SUBMISSIONS_MAX) return reply;
    const outcomes = await awaitVerifiedOutcomes(services, data, signal);
    if (outcomes.some(isBlocking)) return reply;
  }
}
