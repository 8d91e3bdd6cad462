import { edgeReviewCommand, genCommand, stuckSpawnCommand } from '../methodology/definition/command.js';
import { subjectKeys } from '../subject.js';
import type { Run } from './runs.js';

type AdvisedRun = Pick<Run, 'run_id' | 'task_id' | 'status' | 'reason' | 'steps' | 'decision'>;

/** The command that continues the work after a run in its current state; null if the run needs none. */
export function nextCommandOf(run: AdvisedRun): string | null {
  const { run_id, task_id, status, reason, decision } = run;
  const { feature_id = '', edge = '' } = subjectKeys(task_id);
  const review = edgeReviewCommand(feature_id, edge);
  const iterate = genCommand('iterate', task_id);
  if (status === 'REQUESTED') return iterate;
  if (status === 'WAITING') return decision === null ? review : iterate;
  if (status === 'FAILED') return genCommand('runs', 'retry', run_id);
  if (status !== 'ESCALATED') return null;
  if (decision === 'APPROVED') return reason === 'NOT_AUTHORISED' ? null : iterate;
  if (decision === 'CHANGES_REQUESTED') return iterate;
  if (reason === 'STUCK' && decision === null) return stuckSpawnCommand(feature_id, edge);
  if (reason === 'REJECTED' || decision === 'REJECTED')
    return genCommand('task', 'unhold', task_id, '--reason', 'TEXT');
  // Without a candidate whose checks were run there is nothing to review.
  return hasCandidate(run) && reason !== 'BASE_DIFFERS' ? review : genCommand('runs', 'retry', run_id);
}

const hasCandidate = ({ steps }: AdvisedRun): boolean =>
  steps.some(({ step, status }) => step === 'construct_candidate' && status === 'COMPLETED');
