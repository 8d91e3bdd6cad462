import type { Readiness } from '../../../../src/core/contract/values.js';

const TONES: Readonly<Partial<Record<Readiness, string>>> = {
  completed: 'mark-good',
  ready: 'mark-accent',
  claimed: 'mark-accent',
  held: 'mark-warn',
  suspended: 'mark-warn',
  stale: 'mark-bad',
  exhausted: 'mark-bad',
};

export const ReadinessMark = ({ readiness }: { readiness: Readiness }) => (
  <span className={`mark ${TONES[readiness] ?? ''}`}>{readiness}</span>
);
