import type { SubtaskInput, TaskInput } from '../task-schema.js';
import type { SourceSubtask } from './source-item.js';

/**
 * The subtasks of a task. Claims and results refer to a subtask by its position, so a subtask of the plan keeps its
 * position. A new title takes the position of a removed subtask, and the remaining new titles follow at the end. A removed
 * subtask that no title replaces stays if a subtask after it stays.
 */
export function placeSubtasks(
  sourceSubtasks: readonly SourceSubtask[],
  before: TaskInput['subtasks'],
): SubtaskInput[] {
  const currentTitles = typeof before === 'object' ? before.map(({ description }) => description) : [];
  const currentTitleSet = new Set(currentTitles);
  const titles = new Set(sourceSubtasks.map(({ title }) => title));
  const newTitles = sourceSubtasks
    .filter(({ title, is_done }) => !is_done && !currentTitleSet.has(title))
    .map(({ title }) => title);
  const result = currentTitles.map((description) =>
    titles.has(description) ? description : (newTitles.shift() ?? description),
  );
  while (result.length > 0 && !titles.has(result.at(-1) ?? '')) result.pop();
  return [...result, ...newTitles].map((description) => ({ description }));
}
