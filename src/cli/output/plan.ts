import type { PlanInput } from '../../core/contract/plan.js';
import type { TaskState } from '../../core/contract/tasks.js';
import type { Readiness } from '../../core/contract/values.js';
import { subtaskDescription, subtaskIds, type TaskInput, trackMeaning } from '../../core/plan/index.js';
import { plannedTask } from '../../core/plan/task.js';
import type { CommandContext } from '../context.js';
import { paintState } from './paint.js';
import { countText, firstLines, truncate } from './text.js';

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
 * Draws tracks from top to bottom. A vertical line means that the next task waits for the task above. An arrow names
 * other dependencies.
 */
export function drawPlan(
  projectId: string,
  { version, plan }: { version: number; plan: PlanInput },
  states: ReadonlyMap<string, TaskState>,
  context: CommandContext,
): string {
  const tasks = Object.values(plan.tracks).flat();
  const done = tasks.filter(({ id }) => states.get(id)?.phase === 'COMPLETED').length;
  const lines = [
    `${context.paint.bold(projectId)}  version ${version}, ${countText(tasks.length, 'task')}, ${done} completed`,
  ];
  for (const [track, inputs] of Object.entries(plan.tracks)) {
    lines.push('', trackHeading(track, context));
    const width = Math.max(...inputs.map(({ id }) => id.length), 0);
    for (const [index, input] of inputs.entries()) {
      const { depends_on } = input;
      const previous = inputs[index - 1]?.id;
      if (previous !== undefined && depends_on?.includes(previous) !== false) lines.push('  │');
      const otherDependencies = (depends_on ?? []).filter((id) => id !== previous);
      lines.push(...taskLines(input, otherDependencies, width, states, context));
    }
  }
  return lines.join('\n');
}

function trackHeading(track: string, { io, paint }: CommandContext): string {
  const heading = `Track ${track}`;
  const meaning = trackMeaning(track);
  if (meaning === null) return paint.bold(heading);
  const text = truncate(`${heading}  ${meaning}`, io.columns);
  return `${paint.bold(heading)}${text.slice(heading.length)}`;
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
  const taskLine = (indent: number, id: string, description: string): string => {
    const state = states.get(id);
    const readiness = state?.readiness ?? 'blocked';
    const holder = readiness === 'claimed' || readiness === 'stale' ? ` by ${state?.claim?.agent_id}` : '';
    const text = `${MARKS[readiness]} ${id.padEnd(width)}  ${readiness}${holder}  ${description}`;
    return fitLine(text, indent).replace(readiness, paintState(paint, readiness));
  };
  const labels = otherDependencies.map((id) => (states.get(id)?.phase === 'COMPLETED' ? `${id} ✔` : id));
  const task = plannedTask(input);
  return [
    taskLine(2, input.id, input.description),
    ...(labels.length === 0 ? [] : [paint.dim(fitLine(`└← ${labels.join(', ')}`, 2))]),
    ...firstLines(
      subtaskIds(task),
      SUBTASKS_SHOWN_MAX,
      (id, index) => taskLine(4, id, subtaskDescription(task, index + 1)),
      (more) => `    and ${more} more subtasks`,
    ),
  ];
}
