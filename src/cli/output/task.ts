import type { Lineage, TaskState } from '../../core/contract/tasks.js';
import type { CommandContext } from '../context.js';
import { reviewLine } from './lineage.js';
import { paintState } from './paint.js';
import { formatUtc, untilText } from './text.js';

const NAME_WIDTH = 11;

export function taskText(state: TaskState, lineage: Lineage, { labelled, paint }: CommandContext): string {
  const { task_id, readiness, generation, claim, result, waiting_for, parked } = state;
  const lines = [`${paint.bold(task_id)}  ${paintState(paint, readiness)}, generation ${generation}`];
  if (claim !== null) {
    const isOpen = claim.state === 'ACTIVE' || claim.state === 'SUSPENDED';
    const ends = claim.expires_at === null || !isOpen ? '' : `, ${untilText(claim.expires_at)}`;
    lines.push(`  claim    ${claim.state} by ${claim.agent_id} in session ${claim.session_id}${ends}`);
  }
  if (result !== null) {
    const at = formatUtc(result.submitted_at);
    lines.push(`  result   ${result.work_product_ref}, by ${result.agent_id} at ${at} UTC`);
  }
  const error = lineage.generations.at(-1)?.release_message;
  if (error !== undefined) lines.push(...labelled('  error', error, NAME_WIDTH));
  const review = lineage.reviews.at(-1);
  if (review !== undefined) lines.push(...labelled('  review', reviewLine(review), NAME_WIDTH));
  if (waiting_for.length > 0) lines.push(`  waits    for ${waiting_for.join(', ')}`);
  if (parked > 0)
    lines.push(`  parked   ${parked} refused: see gen task history ${task_id}, gen task diff ${task_id}`);
  return lines.join('\n');
}
