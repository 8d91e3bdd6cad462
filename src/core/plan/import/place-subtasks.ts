import type { SubtaskInput, TaskInput } from '../task-schema.js';
import type { SourceSubtask } from './source-item.js';

/**
 * The subtasks of a task. Their numbers are their positions, and claims and results refer to them: a subtask of the
 * plan keeps its position, a new text gets the position of one that is gone, and the others follow at the end.
 */
export function placeSubtasks(
  source: readonly SourceSubtask[],
  before: TaskInput['subtasks'],
): SubtaskInput[] {
  const placed = typeof before === 'object' ? before.map(({ description }) => description) : [];
  const alreadyPlaced = new Set(placed);
  const titles = new Set(source.map(({ title }) => title));
  const added = source
    .filter(({ title, is_done }) => !is_done && !alreadyPlaced.has(title))
    .map(({ title }) => title);
  const result = placed.map((description) =>
    titles.has(description) ? description : (added.shift() ?? description),
  );
  while (result.length > 0 && !titles.has(result.at(-1) ?? '')) result.pop();
  return [...result, ...added].map((description) => ({ description }));
}
