import type { Head } from '../../core/claims/head.js';
import { effectiveChecklist } from '../../core/graph/checklist.js';
import { kindOf, subjectKeys } from '../../core/subject.js';
import { type TaskState, taskState } from '../../core/views/index.js';
import type { Desk } from '../desk.js';
import { openDependencies } from '../facts.js';

/** The state of a task, from a head and what surrounds it. */
export function stateOf(desk: Desk, head: Head, parked: number): TaskState {
  const waiting_for = openDependencies(desk, head.subject);
  return taskState({ ...desk.key, head, waiting_for, parked }, desk.rulesOf(head.subject), desk.now_ms);
}

/** What an edge is about, and what its result will be asked to pass; nothing, where the project does not say. */
export function edgeAsks(desk: Desk, subject: string): Pick<TaskState, 'title' | 'checks'> {
  const { methodology } = desk;
  if (methodology === null || kindOf(subject) !== 'edge') return {};
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const vector = desk.feature(feature_id);
  return vector === null
    ? {}
    : { title: vector.title, checks: effectiveChecklist(methodology, vector, edge) };
}
