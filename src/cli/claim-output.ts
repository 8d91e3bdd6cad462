import type { ClaimGranted, ClaimRefused, ClaimReply, OwnedClaim } from '../client/index.js';
import type { Briefing } from '../coordinator/wire/index.js';
import type { CommandContext } from './context.js';
import { type EdgeGrant, edgeGrant, edgeGrantLines } from './edge/edge-grant.js';
import { clockTime, countText, relativeTime, singleLine } from './output/text.js';
import { reportRefusal } from './replies.js';

/** Prints the reply to a claim request, and stores the handle of a granted claim. */
export async function showClaimReply(context: CommandContext, reply: ClaimReply): Promise<void> {
  if (reply.success) {
    await rememberClaim(context, reply.claim);
    const edge = await edgeGrant(context, reply.claim);
    context.show({ ...reply, ...edge }, (granted) => grantText(context, granted, edge));
    return;
  }
  if (reply.reason === 'SESSION_CLOSED') await context.removeSession();
  reportRefusal(context, reply, claimRefusalText(reply));
}

export async function rememberClaim(context: CommandContext, claim: OwnedClaim): Promise<void> {
  const { id, task_id, generation, session_id, agent_id, lease_duration_seconds } = claim;
  await context.state.saveHandle(await context.target(), {
    task_id,
    generation,
    claim_id: id,
    session_id,
    agent_id,
    lease_duration_seconds,
  });
}

export function claimRefusalText(reply: ClaimRefused): string {
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

function grantText(context: CommandContext, granted: ClaimGranted, edge: EdgeGrant | null): string {
  const { claim, briefing, warnings = [] } = granted;
  const { paint } = context;
  const { expires_at } = claim;
  const ends =
    expires_at === null
      ? 'without a lease'
      : `until ${clockTime(expires_at)} UTC (${relativeTime(expires_at, Date.now())})`;
  const head = `${paint.bold(claim.task_id)}  generation ${claim.generation}, ${ends}`;
  const lines = [head, ...warnings.map((message) => paint.yellow(`  ${singleLine(message)}`))];
  if (edge !== null) return [...lines, ...edgeGrantLines(context, edge, claim.task_id)].join('\n');
  if (briefing !== undefined) lines.push(...briefingLines(briefing));
  return [...lines, `When it is done: gen task submit ${claim.task_id} --file RESULT`].join('\n');
}

function briefingLines(briefing: Briefing): string[] {
  const { description, instructions, dependencies, notes, predecessors } = briefing;
  const lines = ['', `  ${singleLine(description)}`];
  if (instructions !== null) lines.push(...instructions.split('\n').map((line) => `  ${singleLine(line)}`));
  if (dependencies.length > 0) lines.push('', '  It builds on:');
  for (const { task_id, work_product_ref } of dependencies) {
    lines.push(`    ${task_id}${work_product_ref === null ? '' : `  ${work_product_ref}`}`);
  }
  if (predecessors.length > 0)
    lines.push('', `  ${countText(predecessors.length, 'attempt')} before this one:`);
  for (const { generation, agent_id, outcome, parked } of predecessors) {
    const kept = parked === null ? '' : `, its work is kept as ${parked}`;
    lines.push(`    generation ${generation}: ${agent_id}, ${outcome}${kept}`);
  }
  if (notes.length > 0) lines.push('', '  Notes:');
  for (const { at, agent_id, text } of notes) {
    lines.push(`    ${clockTime(at)} ${agent_id}: ${singleLine(text)}`);
  }
  return [...lines, ''];
}
