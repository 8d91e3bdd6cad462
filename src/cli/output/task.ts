import type { Lineage, TaskState } from '../../core/views/index.js';
import type { CommandContext } from '../context.js';
import { reviewLine } from './lineage.js';
import { paintState } from './paint.js';
import { clockTime, relativeTime } from './text.js';
import { labelledLines } from './wrap.js';

const NAME_WIDTH = 11;

/** The state of a task or an edge. */
export function taskText(state: TaskState, lineage: Lineage, { io, paint }: CommandContext): string {
  const { task_id, readiness, generation, claim, result, waiting_for, parked } = state;
  const lines = [`${paint.bold(task_id)}  ${paintState(paint, readiness)}, generation ${generation}`];
  if (claim !== null) {
    const isOpen = claim.state === 'ACTIVE' || claim.state === 'SUSPENDED';
    const ends =
      claim.expires_at === null || !isOpen
        ? ''
        : `, until ${clockTime(claim.expires_at)} UTC (${relativeTime(claim.expires_at, Date.now())})`;
    lines.push(`  claim    ${claim.state} by ${claim.agent_id} in session ${claim.session_id}${ends}`);
  }
  if (result !== null) {
    lines.push(
      `  result   ${result.work_product_ref}, by ${result.agent_id} at ${clockTime(result.submitted_at)} UTC`,
    );
  }
  const error = lineage.generations.at(-1)?.release_message ?? null;
  if (error !== null) lines.push(...labelledLines('  error', error, NAME_WIDTH, io.columns));
  const review = lineage.reviews.at(-1);
  if (review !== undefined)
    lines.push(...labelledLines('  review', reviewLine(review), NAME_WIDTH, io.columns));
  if (waiting_for.length > 0) lines.push(`  waits    for ${waiting_for.join(', ')}`);
  if (parked > 0) lines.push(`  kept     ${parked} refused: see gen task history ${task_id}`);
  return lines.join('\n');
}
