import { parseTaskId } from '../plan/task-id.js';
import { kindOf } from '../subject.js';

/** Where a subject stands in the plan, by its id alone. Edges, and ids no plan can hold, stand nowhere. */
export interface Place {
  readonly task_id: string;
  readonly track: string | null;
  readonly sequence: number | null;
}

export function placeOf(subject: string): Place {
  const nowhere = { task_id: subject, track: null, sequence: null };
  if (kindOf(subject) !== 'task') return nowhere;
  const parsed = parseTaskId(subject);
  return parsed.ok ? { task_id: subject, track: parsed.id.track, sequence: parsed.id.sequence } : nowhere;
}
