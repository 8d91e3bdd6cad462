import type { TaskState } from '../../core/views/index.js';
import { type Paint, paintState } from './paint.js';
import { clockTime, distance } from './text.js';

/** How a piece of work stands, for a person. */
export function taskText(state: TaskState, paint: Paint): string {
  const { task_id, readiness, generation, claim, result, waiting_for, parked } = state;
  const lines = [`${paint.bold(task_id)}  ${paintState(paint, readiness)}, generation ${generation}`];
  if (claim !== null) {
    const ends =
      claim.expires_at === null
        ? ''
        : `, until ${clockTime(claim.expires_at)} UTC (${distance(claim.expires_at, Date.now())})`;
    lines.push(`  claim    ${claim.state} by ${claim.agent_id} in session ${claim.session_id}${ends}`);
  }
  if (result !== null) {
    lines.push(
      `  result   ${result.work_product_ref}, by ${result.agent_id} at ${clockTime(result.submitted_at)} UTC`,
    );
  }
  if (waiting_for.length > 0) lines.push(`  waits    for ${waiting_for.join(', ')}`);
  if (parked > 0) lines.push(`  kept     ${parked} refused: see gen task history ${task_id}`);
  return lines.join('\n');
}
