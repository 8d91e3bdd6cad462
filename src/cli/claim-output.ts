import type { ClaimGranted, ClaimRefused, ClaimReply } from '../client/index.js';
import type { Briefing } from '../core/contract/briefing.js';
import type { GrantedClaim } from '../core/contract/claim-records.js';
import type { CommandContext } from './context.js';
import { type EdgeGrant, openEdgeGrant } from './edge/edge-grant.js';
import { edgeGrantLines } from './edge/edge-grant-lines.js';
import { countText, formatUtc, singleLine, untilText, withFullStop } from './output/text.js';
import { reportRefusal } from './replies.js';

/** Prints the reply to a claim request. Stores the handle of a granted claim, and forgets a session that is closed. */
export async function showClaimReply(context: CommandContext, reply: ClaimReply): Promise<void> {
  if (reply.success) {
    await storeClaimHandle(context, reply.claim);
    const edge = await openEdgeGrant(context, reply.claim);
    context.printReply({ ...reply, ...edge }, (granted) => grantText(context, granted, edge));
    return;
  }
  if (reply.reason === 'SESSION_CLOSED') await context.removeSession();
  reportRefusal(context, reply, claimRefusalText(reply));
}

export async function storeClaimHandle(context: CommandContext, claim: GrantedClaim): Promise<void> {
  const { id: claim_id, task_id, generation, session_id, agent_id, lease_duration_seconds } = claim;
  const handle = { task_id, generation, claim_id, session_id, agent_id, lease_duration_seconds };
  await context.state.saveHandle(await context.target(), handle);
}

export function claimRefusalText(reply: ClaimRefused): string {
  switch (reply.reason) {
    case 'DENIED_ACTIVE_CLAIM': {
      const { current_holder, expires_at } = reply;
      const until = expires_at ? ` until ${formatUtc(expires_at)} UTC` : '';
      return current_holder === null ? '' : `Held by ${current_holder}${until}.`;
    }
    case 'DENIED_DEPENDENCIES':
    case 'NOTHING_READY':
      return reply.waiting_for.length === 0 ? '' : `Waiting for ${reply.waiting_for.join(', ')}.`;
    case 'DENIED_HELD':
      return withFullStop(reply.hold_reason);
    case 'DENIED_BACKOFF':
      return `Available from ${formatUtc(reply.retry_at)} UTC.`;
    default:
      return '';
  }
}

function grantText(context: CommandContext, granted: ClaimGranted, edge: EdgeGrant | null): string {
  const { claim, briefing, warnings = [] } = granted;
  const { paint } = context;
  const leaseText = claim.expires_at === null ? 'without a lease' : untilText(claim.expires_at);
  const resumedText = granted.resumed === true ? ' (you held it already)' : '';
  const title = `${paint.bold(claim.task_id)}  generation ${claim.generation}, ${leaseText}${resumedText}`;
  const lines = [title, ...warnings.map((message) => paint.yellow(`  ${singleLine(message)}`))];
  if (edge !== null) return [...lines, ...edgeGrantLines(context, edge, claim.task_id)].join('\n');
  if (briefing !== undefined) lines.push(...briefingLines(briefing));
  const options = context.repeatedOptions();
  return [...lines, `When done: gen task submit ${claim.task_id} --file RESULT${options}`].join('\n');
}

function dependencyLines({ task_id, work_product_ref, result, read, notes = [] }: Dependency): string[] {
  const lines = [`    ${task_id}${work_product_ref === null ? '' : `  ${work_product_ref}`}`];
  if (result !== undefined) lines.push(`      ${singleLine(JSON.stringify(result))}`);
  if (read !== undefined) lines.push(`      gen task result ${task_id}`);
  return [...lines, ...notes.map(({ agent_id, text }) => `      ${agent_id}: ${singleLine(text)}`)];
}

type Dependency = Briefing['dependencies'][number];

function briefingLines(briefing: Briefing): string[] {
  const { description, instructions, dependencies, notes, predecessors } = briefing;
  const lines = ['', `  ${singleLine(description)}`];
  if (instructions !== null) lines.push(...instructions.split('\n').map((line) => `  ${singleLine(line)}`));
  if (dependencies.length > 0) lines.push('', '  Depends on:');
  for (const dependency of dependencies) lines.push(...dependencyLines(dependency));
  if (predecessors.length > 0) lines.push('', `  ${countText(predecessors.length, 'previous attempt')}:`);
  for (const { generation, agent_id, outcome, parked, message } of predecessors) {
    const reasonText = message === undefined ? '' : ` (${singleLine(message)})`;
    const parkedText = parked === null ? '' : `, result kept as ${parked}`;
    lines.push(`    generation ${generation}: ${agent_id}, ${outcome}${reasonText}${parkedText}`);
  }
  if (notes.length > 0) lines.push('', '  Notes:');
  for (const { at, agent_id, text } of notes) {
    lines.push(`    ${formatUtc(at)} ${agent_id}: ${singleLine(text)}`);
  }
  return [...lines, ''];
}
