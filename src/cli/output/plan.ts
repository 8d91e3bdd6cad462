import { type PlanInput, subtaskDescription, subtaskIds, type TaskInput } from '../../core/plan/index.js';
import { plannedTask } from '../../core/plan/task.js';
import type { Readiness, TaskState } from '../../core/views/index.js';
import type { CommandContext } from '../context.js';
import { paintState } from './paint.js';
import { countText, truncate } from './text.js';

const MARKS: Readonly<Record<Readiness, string>> = {
  completed: '✔',
  claimed: '▶',
  ready: '○',
  blocked: '·',
  held: '■',
  suspended: '‖',
  stale: '?',
  backoff: '↻',
  exhausted: '✖',
};
const SUBTASKS_SHOWN_MAX = 20;

/**
 * Draws tracks from top to bottom. A vertical line means that the next task waits for the one above; an arrow names
 * other dependencies.
 */
export function drawPlan(
  project: string,
  { version, plan }: { version: number; plan: PlanInput },
  states: ReadonlyMap<string, TaskState>,
  context: CommandContext,
): string {
  const tasks = Object.values(plan.tracks).flat();
  const done = tasks.filter(({ id }) => states.get(id)?.phase === 'COMPLETED').length;
  const lines = [
    `${context.paint.bold(project)}  version ${version}, ${countText(tasks.length, 'task')}, ${done} completed`,
  ];
  for (const [track, inputs] of Object.entries(plan.tracks)) {
    lines.push('', context.paint.bold(`Track ${track}`));
    const width = Math.max(...inputs.map(({ id }) => id.length), 0);
    for (const [at, input] of inputs.entries()) {
      const hasPreviousDependency =
        at > 0 && (input.depends_on === undefined || input.depends_on.includes(inputs[at - 1]?.id ?? ''));
      if (hasPreviousDependency) lines.push('  │');
      const otherDependencies = (input.depends_on ?? []).filter(
        (id) => !hasPreviousDependency || id !== inputs[at - 1]?.id,
      );
      lines.push(...taskLines(input, otherDependencies, width, states, context));
    }
  }
  return lines.join('\n');
}

function taskLines(
  input: TaskInput,
  otherDependencies: readonly string[],
  width: number,
  states: ReadonlyMap<string, TaskState>,
  { io, paint }: CommandContext,
): string[] {
  const fitLine = (text: string, indent: number): string =>
    `${' '.repeat(indent)}${truncate(text, io.columns === null ? null : io.columns - indent)}`;
  const line = (indent: number, id: string, description: string): string => {
    const state = states.get(id);
    const readiness = state?.readiness ?? 'blocked';
    const holder = readiness === 'claimed' || readiness === 'stale' ? ` by ${state?.claim?.agent_id}` : '';
    const text = `${MARKS[readiness]} ${id.padEnd(width)}  ${readiness}${holder}  ${description}`;
    return fitLine(text, indent).replace(readiness, paintState(paint, readiness));
  };
  const lines = [line(2, input.id, input.description)];
  if (otherDependencies.length > 0) {
    const labels = otherDependencies.map((id) => (states.get(id)?.phase === 'COMPLETED' ? `${id} ✔` : id));
    lines.push(paint.dim(fitLine(`└← ${labels.join(', ')}`, 2)));
  }
  const task = plannedTask(input);
  const subtasks = subtaskIds(task);
  for (const [at, id] of subtasks.slice(0, SUBTASKS_SHOWN_MAX).entries()) {
    lines.push(line(4, id, subtaskDescription(task, at + 1)));
  }
  if (subtasks.length > SUBTASKS_SHOWN_MAX)
    lines.push(`    and ${subtasks.length - SUBTASKS_SHOWN_MAX} more parts`);
  return lines;
}
