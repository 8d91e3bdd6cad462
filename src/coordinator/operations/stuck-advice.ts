import type { TaskState } from '../../core/contract/tasks.js';
import { isoTime } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { taskStateOf } from '../queries/tasks.js';
import type { DecisionView } from '../queue/decision-view.js';

const TASKS_EXAMINED_MAX = 1000;
const TASKS_NAMED_MAX = 3;
/** States in which work normally waits for a person, with their wording in a sentence. */
const HUMAN_STATES: ReadonlyMap<TaskState['readiness'], string> = new Map([
  ['held', 'on hold'],
  ['suspended', 'suspended'],
  ['stale', 'stale'],
  ['exhausted', 'no generations left'],
]);

/**
 * Why none of these tasks can be claimed; null if an agent works on one of them, or if one can be claimed. Also null for an
 * empty list, and for one that is too long to examine.
 */
export function stuckAdvice(view: DecisionView, taskIds: readonly string[]): string | null {
  if (taskIds.length === 0 || taskIds.length > TASKS_EXAMINED_MAX) return null;
  const states = taskIds.map((id) => taskStateOf(view, view.peekHead(id), 0));
  const failed = states.filter(({ readiness }) => readiness === 'backoff');
  const forHuman = states.filter(({ readiness }) => HUMAN_STATES.has(readiness));
  if (failed.length + forHuman.length < states.length) return null;
  return failed.length === 0 ? humanAdvice(forHuman) : retryAdvice(view, failed);
}

function humanAdvice(states: readonly TaskState[]): string {
  const taskTexts = states
    .slice(0, TASKS_NAMED_MAX)
    .map(({ task_id, readiness }) => `${task_id} (${HUMAN_STATES.get(readiness)})`);
  const more = states.length > TASKS_NAMED_MAX ? ` and ${states.length - TASKS_NAMED_MAX} more` : '';
  const explain = genCommand('task', 'explain', states[0]?.task_id ?? '');
  return `A person must act before other work can start: ${taskTexts.join(', ')}${more}. What to do: ${explain}`;
}

function retryAdvice(view: DecisionView, states: readonly TaskState[]): string {
  const [first] = states
    .map(({ task_id }) => ({ task_id, retry_at_ms: view.peekHead(task_id).retry_at_ms ?? 0 }))
    .sort((a, b) => a.retry_at_ms - b.retry_at_ms);
  const at = isoTime(first?.retry_at_ms ?? 0);
  return `The last attempt at ${first?.task_id} failed. It can be claimed again at ${at}: retry then, or pass wait_seconds.`;
}
