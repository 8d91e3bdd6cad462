import type {
  AdoptCommand,
  Context,
  Decision,
  FailingCheck,
  ForceReleaseCommand,
  HoldCommand,
  OperatorFields,
  ReassignCommand,
  ResetCommand,
  UnholdCommand,
} from '../commands.js';
import type { Head } from '../head.js';
import { holdReason } from '../lease.js';
import { leaseAllowed, tellGrant, unknown, unready } from './claim.js';
import { resultFields } from './submit.js';
import { holder, operator, refuse, replay, Telling } from './tell.js';

/** The human too must name the generation they saw, or they may undo what they never knew of. */
const unseen = (head: Head, command: OperatorFields): boolean =>
  head.generation !== command.expected_generation;

const claimIsOpen = (head: Head): boolean =>
  head.claim !== null && ['ACTIVE', 'SUSPENDED'].includes(head.claim.state);

export function decideForceRelease(head: Head, command: ForceReleaseCommand, ctx: Context): Decision {
  if (unseen(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (!claimIsOpen(head) && head.claim?.state !== 'EXPIRED') return refuse(head, 'NO_CLAIM');
  return new Telling(head, ctx)
    .tell('released', holder(head), { reason: 'FORCED', by: command.by, message: command.reason })
    .done('FORCED');
}

/** A live claim is superseded and its successor granted in one commit. */
export function decideReassign(head: Head, command: ReassignCommand, ctx: Context): Decision {
  if (unseen(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (!leaseAllowed(command.to.lease_seconds, ctx.rules)) return refuse(head, 'INVALID_LEASE');
  if (!command.to.facts.known) return refuse(head, 'UNKNOWN_TASK', unknown(command.to.facts).details);
  if (command.to.facts.session_closed) return refuse(head, 'SESSION_CLOSED');
  if (command.to.facts.edge?.second_agent) return refuse(head, 'DENIED_SINGLE_AGENT');
  if (head.phase === 'COMPLETED') return refuse(head, 'DENIED_COMPLETED');
  const refusal = unready({ ...head, retry_at_ms: null }, command.to, ctx);
  if (refusal !== null) return refuse(head, refusal.code, refusal.details);
  const telling = new Telling(head, ctx);
  supersede(telling, command);
  if (holdReason(telling.head, ctx.now_ms, ctx.rules) !== null) {
    telling.tell('unheld', operator(head, command.by), { reason: command.reason, by: command.by });
  }
  tellGrant(telling, command.to, ctx);
  const expires_at_ms = telling.head.claim?.expires_at_ms ?? null;
  return telling.done('REASSIGNED', { expires_at_ms }, { not_after_ms: expires_at_ms });
}

function supersede(telling: Telling, command: OperatorFields): void {
  if (!claimIsOpen(telling.head)) return;
  telling.tell('lost', holder(telling.head), {
    cause: 'SUPERSEDED',
    disposition: 'eligible',
    by: command.by,
    reason: command.reason,
  });
}

/** Opens a completed subject again. The generation stays: old handles must not come back to life. */
export function decideReset(head: Head, command: ResetCommand, ctx: Context): Decision {
  if (unseen(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (head.phase !== 'COMPLETED') return refuse(head, 'NOT_COMPLETED');
  return new Telling(head, ctx)
    .tell('reset', operator(head, command.by), {
      reason: command.reason,
      by: command.by,
      epoch: head.epoch + 1,
    })
    .done('RESET');
}

export function decideHold(head: Head, command: HoldCommand, ctx: Context): Decision {
  if (unseen(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (head.hold?.reason === command.reason) return replay(head, 'HELD');
  return new Telling(head, ctx)
    .tell('held', operator(head, command.by), { reason: command.reason, by: command.by })
    .done('HELD');
}

export function decideUnhold(head: Head, command: UnholdCommand, ctx: Context): Decision {
  if (unseen(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (holdReason(head, ctx.now_ms, ctx.rules) === null) return replay(head, 'UNHELD');
  return new Telling(head, ctx)
    .tell('unheld', operator(head, command.by), { reason: command.reason, by: command.by })
    .done('UNHELD');
}

function unchecked(head: Head, failing: readonly FailingCheck[]): Decision {
  const names = failing.map(({ name }) => name).join(', ');
  const says = `Whoever submitted this result did not pass ${names}. Claim the edge, pass the checks, and submit it anew.`;
  return refuse(head, 'NOT_CONVERGED', { failing, says });
}

/** Parked work becomes the result, under a generation of its own: the adoption is granted and accepted at once. */
export function decideAdopt(head: Head, command: AdoptCommand, ctx: Context): Decision {
  const { parked } = command;
  if (unseen(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (head.phase === 'COMPLETED') return refuse(head, 'DENIED_COMPLETED');
  if (parked === null) return refuse(head, 'UNKNOWN_RESULT');
  if (command.failing !== undefined && command.failing.length > 0) return unchecked(head, command.failing);
  const telling = new Telling(head, ctx);
  supersede(telling, command);
  const grantee = { agent_id: command.by, session_id: command.session_id, agent_role: null };
  tellGrant(
    telling,
    {
      ...grantee,
      user_id: command.by,
      lease_seconds: null,
      request_id: command.request_id,
      metadata: null,
      facts: { known: true, session_closed: false, waiting_for: [], inputs: null, full: null },
    },
    ctx,
  );
  telling.tell('adopted', holder(telling.head), {
    reason: command.reason,
    by: command.by,
    adopted_from: {
      result_id: parked.result.result_id,
      generation: parked.generation,
      agent_id: parked.agent_id,
      session_id: parked.session_id,
    },
    ...resultFields(parked.result),
  });
  return telling.done('ADOPTED', { result: parked.result });
}
