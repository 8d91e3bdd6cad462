import { dependenciesOf } from '../../../../src/core/plan/dependency-graph.js';
import { applyPlanChange, Plan } from '../../../../src/core/plan/plan.js';
import type { TaskInput } from '../../../../src/core/plan/task.js';
import type { Reply } from '../../api/call.js';

/** The entry of a task in the plan. */
interface PlanEntry {
  readonly description: string;
  readonly instructions: string | null;
  readonly dependencies: readonly string[];
  readonly modules: readonly string[];
  readonly priority: number;
}

/** Null if the plan has no such task, as for an edge. */
export function planEntryOf({ plan: planInput }: Reply<'get_plan'>, subject: string): PlanEntry | null {
  const added = Object.values(planInput.tracks).flat() as TaskInput[];
  const plan = applyPlanChange(new Plan(), { added, changed: [], removed: [] });
  const planned = plan.get(subject);
  if (planned === undefined) return null;
  const { task, subtask_index } = planned;
  const subtask = typeof task.subtasks === 'number' ? undefined : task.subtasks[(subtask_index ?? 0) - 1];
  return {
    description: subtask?.description ?? task.description,
    instructions: task.instructions,
    dependencies: dependenciesOf(plan, subject),
    modules: task.modules,
    priority: task.priority,
  };
}
