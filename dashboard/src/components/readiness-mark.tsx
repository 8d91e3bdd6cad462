import type { Readiness } from '../../../src/core/contract/values.js';

const TONES: Readonly<Record<Readiness, string>> = {
  completed: 'mark-good',
  held: 'mark-warn',
  suspended: 'mark-warn',
  stale: 'mark-bad',
  claimed: 'mark-accent',
  blocked: '',
  backoff: '',
  exhausted: 'mark-bad',
  ready: 'mark-ready',
};

/** Whether a task can be claimed, or why not. */
export const ReadinessMark = ({ readiness }: { readiness: Readiness }) => (
  <span className={`mark ${TONES[readiness]}`}>{readiness}</span>
);
