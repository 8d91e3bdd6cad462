import { claimEventType } from '../../core/claims/claim-event-kinds.js';
import { edgeEventsSinceRun } from '../../core/engine/decided-end.js';
import { type ReviewSettings, reviewDeadlineMs } from '../../core/engine/review-notices.js';
import type { HumanDecision, RunData } from '../../core/engine/run-data.js';
import { type EventEnvelope, isoTime, msOf } from '../../core/events/envelope.js';
import { engineError } from '../engine-error.js';
import { MachineStopped } from '../interpreter/run-machine.js';
import type { StepCall } from '../runs/step-runner.js';
import { edgePlanOf, putJson } from './run-state.js';
import type { EngineServices } from './services.js';
import { refusedError, subjectOf } from './submission.js';
import { submitVerified } from './submit-verified.js';

type Events = readonly EventEnvelope[];

const NO_ANSWER: HumanDecision = { decision: 'NO_ANSWER', reviewer: '', comment: '' };

/**
 * Submits the candidate for review by a person. The claim is suspended and no process waits: the machine stops here, and
 * runs again when a decision is in the log or the deadline has passed.
 */
export async function requestReview(services: EngineServices, call: StepCall): Promise<HumanDecision> {
  const { data, journal, key, attempt, task_token } = call;
  const readEvents = () => services.coordination.eventsOf(subjectOf(data));
  const events = await readEvents();
  const decision = decisionOn(events, data);
  if (decision !== null) return decision;
  if (hasTimedOut(events, data, services.now())) return NO_ANSWER;
  const reply = await submitVerified(services, call);
  if (reply.accepted) return { decision: 'APPROVED', reviewer: '', comment: '' };
  if (reply.reason !== 'ESCALATED') throw refusedError(reply);
  if (!journal.isWaiting(key)) {
    const { settings } = await edgePlanOf(services.blobs, data);
    const eventsAfterSubmission = await readEvents();
    // A person may have decided meanwhile. Then the run does not wait, and must not record a wait.
    const decisionMeanwhile = decisionOn(eventsAfterSubmission, data);
    if (decisionMeanwhile !== null) return decisionMeanwhile;
    const deadlineAt = isoTime(deadlineMsOf(eventsAfterSubmission, data, settings.review));
    const task = await putJson(services.blobs, { ...data, ...(task_token === null ? {} : { task_token }) });
    await journal.recordWaiting(key, attempt, deadlineAt, task);
  }
  throw new MachineStopped(
    `${subjectOf(data)} waits for a review: gen review --feature ${data.run.feature_id}`,
  );
}

/**
 * The decision on exactly this candidate and iteration; null if there is none yet. The decision also counts if another
 * executor has taken the run over since, but not for another run that has made the same candidate.
 */
function decisionOn(events: Events, data: RunData): HumanDecision | null {
  const reviewedType = claimEventType('reviewed', subjectOf(data));
  const review = edgeEventsSinceRun(events, data.run.run_id).findLast(
    (event) => event.event_type === reviewedType && isOfCandidate(event, data),
  );
  if (review === undefined) return null;
  const { decision, reviewer, comment = '' } = review.payload as Partial<HumanDecision>;
  return { decision: decision ?? 'REJECTED', reviewer: String(reviewer ?? ''), comment };
}

/** Whether the review has timed out: the coordinator has recorded the timeout, or will record it in its next round. */
function hasTimedOut(events: Events, data: RunData, nowMs: number): boolean {
  return events.some((event) => {
    if (event.event_type === 'escalation_timeout') return isOfCandidate(event, data);
    if (event.event_type !== 'run_suspended') return false;
    const { run_id, iteration, deadline_at } = event.payload;
    const isOfRun = run_id === data.run.run_id && iteration === data.iteration;
    return isOfRun && nowMs >= msOf(String(deadline_at));
  });
}

/** The same deadline that the coordinator applies, from the event that opened the review. */
function deadlineMsOf(events: Events, data: RunData, settings: ReviewSettings | undefined): number {
  const escalatedType = claimEventType('escalated', subjectOf(data));
  const escalation = events.findLast(({ event_type }) => event_type === escalatedType);
  if (escalation === undefined) throw engineError('failed', 'The log has no escalation of the candidate.');
  return reviewDeadlineMs(msOf(escalation.timestamp), msOf(String(escalation.payload.until)), settings);
}

const isOfCandidate = ({ payload }: EventEnvelope, { iteration, candidate }: RunData): boolean =>
  payload.iteration === iteration && payload.candidate_sha256 === candidate?.sha256;
