import type { ClaimRefused, ClaimReply, Granted, HeldClaim } from '../client/index.js';
import type { Briefing } from '../coordinator/wire.js';
import type { Context } from './context.js';
import { type EdgeGrant, edgeGrant, edgeLines } from './edge/granted.js';
import { clockTime, count, distance, plainText } from './output/text.js';
import { refuse } from './replies.js';

/** Shows what came of asking for work, and remembers the handle of what was granted. */
export async function taken(context: Context, reply: ClaimReply): Promise<void> {
  if (reply.success) {
    await rememberClaim(context, reply.claim);
    const edge = await edgeGrant(context, reply.claim);
    context.show({ ...reply, ...edge }, (granted) => grantText(context, granted, edge));
    return;
  }
  if (reply.reason === 'SESSION_CLOSED') await context.forgetSession();
  refuse(context, reply, whyNot(reply));
}

export async function rememberClaim(context: Context, claim: HeldClaim): Promise<void> {
  const { id, task_id, generation, session_id, agent_id, lease_duration_seconds } = claim;
  await context.memory.keepHandle(await context.place(), {
    task_id,
    generation,
    claim_id: id,
    session_id,
    agent_id,
    lease_duration_seconds,
  });
}

export function whyNot(reply: ClaimRefused): string {
  const { current_holder, expires_at, waiting_for = [], hold_reason, retry_at, limit } = reply;
  const parts: string[] = [];
  if (current_holder !== null) {
    parts.push(`${current_holder} has it${expires_at ? ` until ${clockTime(expires_at)} UTC` : ''}.`);
  }
  if (waiting_for.length > 0) parts.push(`It waits for ${waiting_for.join(', ')}.`);
  if (hold_reason !== undefined) parts.push(`${hold_reason}.`);
  if (retry_at !== undefined) parts.push(`Not before ${clockTime(retry_at)} UTC.`);
  if (limit !== undefined) parts.push(`The limit ${limit} is reached.`);
  return parts.join(' ');
}

function grantText(context: Context, granted: Granted, edge: EdgeGrant | null): string {
  const { claim, briefing, warnings = [] } = granted;
  const { paint } = context;
  const { expires_at } = claim;
  const ends =
    expires_at === null
      ? 'without a lease'
      : `until ${clockTime(expires_at)} UTC (${distance(expires_at, Date.now())})`;
  const head = `${paint.bold(claim.task_id)}  generation ${claim.generation}, ${ends}`;
  const lines = [head, ...warnings.map((says) => paint.yellow(`  ${plainText(says)}`))];
  if (edge !== null) return [...lines, ...edgeLines(context, edge, claim.task_id)].join('\n');
  if (briefing !== undefined) lines.push(...briefingLines(briefing));
  return [...lines, `When it is done: gen task submit ${claim.task_id} --file RESULT`].join('\n');
}

function briefingLines(briefing: Briefing): string[] {
  const { description, instructions, dependencies, notes, predecessors } = briefing;
  const lines = ['', `  ${plainText(description)}`];
  if (instructions !== null) lines.push(...instructions.split('\n').map((line) => `  ${plainText(line)}`));
  if (dependencies.length > 0) lines.push('', '  It builds on:');
  for (const { task_id, work_product_ref } of dependencies) {
    lines.push(`    ${task_id}${work_product_ref === null ? '' : `  ${work_product_ref}`}`);
  }
  if (predecessors.length > 0) lines.push('', `  ${count(predecessors.length, 'attempt')} before this one:`);
  for (const { generation, agent_id, outcome, parked } of predecessors) {
    const kept = parked === null ? '' : `, its work is kept as ${parked}`;
    lines.push(`    generation ${generation}: ${agent_id}, ${outcome}${kept}`);
  }
  if (notes.length > 0) lines.push('', '  Notes:');
  for (const { at, agent_id, text } of notes) {
    lines.push(`    ${clockTime(at)} ${agent_id}: ${plainText(text)}`);
  }
  return [...lines, ''];
}
