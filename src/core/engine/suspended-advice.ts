import type { RunSummary } from '../contract/runs.js';
import { edgeReviewCommand, genCommand } from '../methodology/definition/command.js';
import { subjectKeys } from '../subject.js';

/** The fields of the last run of an edge that the advice needs. */
export type LastRun = Pick<RunSummary, 'run_id' | 'status'>;

const reviewCommandOf = (subject: string): string => {
  const { feature_id, edge } = subjectKeys(subject);
  return feature_id === undefined ? genCommand('review', subject) : edgeReviewCommand(feature_id, edge ?? '');
};

/** The command that continues suspended work if no candidate of it waits for a review. */
export const suspendedCommand = (subject: string, lastRun: LastRun | null): string =>
  commandOfRun(subject, lastRun) ?? genCommand('task', 'force-release', subject, '--reason', 'suspended');

/** What a person can do about suspended work, with the command. */
export function suspendedAdvice(subject: string, hasOpenGate: boolean, lastRun: LastRun | null): string {
  if (hasOpenGate) return `A person must decide first: ${reviewCommandOf(subject)}`;
  const next = suspendedCommand(subject, lastRun);
  return commandOfRun(subject, lastRun) === null
    ? `Its holder can resume or release it; an admin can release it: ${next}`
    : `Continue its run: ${next}`;
}

/** The command that continues the last run; null if it has ended for good, or there is none. */
function commandOfRun(subject: string, lastRun: LastRun | null): string | null {
  switch (lastRun?.status) {
    case 'ESCALATED':
    case 'FAILED':
      return genCommand('runs', 'retry', lastRun.run_id);
    case 'REQUESTED':
    case 'RUNNING':
    case 'WAITING':
      return genCommand('iterate', subject);
    default:
      return null;
  }
}
