import { claimEventType } from '../../core/claims/claim-event-kinds.js';
import type { HumanDecision } from '../../core/engine/run-data.js';
import { REVIEW_DEADLINE_DAYS } from '../../core/engine/step-timeouts.js';
import { isoTime } from '../../core/events/envelope.js';
import { engineError } from '../engine-error.js';
import { MachineStopped } from '../interpreter/run-machine.js';
import type { StepCall } from '../runs/step-runner.js';
import { claimOf, planOf, putJson } from './run-state.js';
import type { EngineServices } from './services.js';
import { isClaimLost, subjectOf, submitCandidate } from './submission.js';

const DAY_MS = 24 * 3600 * 1000;

/**
 * Puts the candidate before a person. The claim is suspended and no process waits: the machine stops here, and is run
 * again when a decision is in the log.
 */
export async function requestReview(services: EngineServices, call: StepCall): Promise<HumanDecision> {
  const { data, journal, key, attempt, task_token } = call;
  const decided = await decisionOn(services, call);
  if (decided !== null) return decided;
  const reply = await submitCandidate(services, data);
  if (reply.accepted) return { decision: 'APPROVED', reviewer: '', comment: '' };
  if (reply.reason !== 'ESCALATED')
    throw engineError(
      isClaimLost(reply) ? 'claimLost' : 'failed',
      `The candidate was refused: ${reply.reason}. ${reply.next}`,
    );
  const plan = await planOf(services.blobs, data);
  const days = plan.settings.review?.deadline_days ?? REVIEW_DEADLINE_DAYS;
  const task = await putJson(services.blobs, { ...data, ...(task_token === null ? {} : { task_token }) });
  await journal.waiting(key, attempt, isoTime(services.now() + days * DAY_MS), task);
  throw new MachineStopped(
    `${subjectOf(data)} waits for a review: gen review --feature ${data.run.feature_id}`,
  );
}

/** The decision on exactly this candidate of this generation and iteration; null if there is none yet. */
async function decisionOn(
  { coordination }: EngineServices,
  { data }: StepCall,
): Promise<HumanDecision | null> {
  const subject = subjectOf(data);
  const { generation } = claimOf(data);
  const reviewed = claimEventType('reviewed', subject);
  const events = await coordination.eventsOf(subject);
  const review = events.findLast(
    ({ event_type, generation: reviewedGeneration, payload }) =>
      event_type === reviewed &&
      reviewedGeneration === generation &&
      payload.iteration === data.iteration &&
      payload.candidate_sha256 === data.candidate?.sha256,
  );
  if (review === undefined) return null;
  const { decision, reviewer, comment = '' } = review.payload as Partial<HumanDecision>;
  return { decision: decision ?? 'REJECTED', reviewer: String(reviewer ?? ''), comment };
}
