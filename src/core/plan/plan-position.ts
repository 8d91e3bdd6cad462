import { subjectKindOf } from '../subject.js';

/** Position of a subject in the plan, from its id alone. Edges, and ids unlike those of tasks, have no track and sequence. */
export interface PlanPosition {
  readonly task_id: string;
  readonly track: string | null;
  readonly sequence: number | null;
}

const TRACK_LENGTH_MAX = 8;
const SEQUENCE_LENGTH = 3;

// Runs for every grant: slicing a well-formed id costs a fraction of parsing it.
export function planPositionOf(subject: string): PlanPosition {
  const hyphenIndex = subject.indexOf('-');
  const sequence = Number(subject.slice(hyphenIndex + 1, hyphenIndex + 1 + SEQUENCE_LENGTH));
  const isTask =
    hyphenIndex >= 1 && hyphenIndex <= TRACK_LENGTH_MAX && sequence >= 1 && subjectKindOf(subject) === 'task';
  if (!isTask || subject[hyphenIndex + 1 + SEQUENCE_LENGTH] !== '-') {
    return { task_id: subject, track: null, sequence: null };
  }
  return { task_id: subject, track: subject.slice(0, hyphenIndex), sequence };
}
