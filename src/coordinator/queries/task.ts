import type { Head } from '../../core/claims/head.js';
import { type TaskState, taskState } from '../../core/views/index.js';
import type { Desk } from '../desk.js';
import { openDependencies } from '../facts.js';

/** The state of a task, from a head and what surrounds it. */
export function stateOf(desk: Desk, head: Head, parked: number): TaskState {
  const waiting_for = openDependencies(desk, head.subject);
  return taskState({ ...desk.key, head, waiting_for, parked }, desk.rulesOf(head.subject), desk.now_ms);
}
