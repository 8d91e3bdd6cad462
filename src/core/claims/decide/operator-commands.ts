import type {
  AdoptCommand,
  Decision,
  DecisionContext,
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
import { emitGrant, isLeaseAllowed, readinessDenial, unknownSubjectDenial } from './claim.js';
import { DecisionBuilder, holderActor, operatorActor, refuse, replay } from './decision-builder.js';
import { resultFields } from './submit.js';

/** Operators must name the generation they saw too: otherwise they could undo a change they did not know about. */
const isGenerationStale = (head: Head, command: OperatorFields): boolean =>
  head.generation !== command.expected_generation;

const hasOpenClaim = (head: Head): boolean =>
  head.claim !== null && ['ACTIVE', 'SUSPENDED'].includes(head.claim.state);

export function decideForceRelease(head: Head, command: ForceReleaseCommand, ctx: DecisionContext): Decision {
  if (isGenerationStale(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (!hasOpenClaim(head) && head.claim?.state !== 'EXPIRED') return refuse(head, 'NO_CLAIM');
  return new DecisionBuilder(head, ctx)
    .emit('released', holderActor(head), { reason: 'FORCED', by: command.by, message: command.reason })
    .build('FORCED');
}

/** Supersedes a live claim and grants its successor in one commit. */
export function decideReassign(head: Head, command: ReassignCommand, ctx: DecisionContext): Decision {
  if (isGenerationStale(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (!isLeaseAllowed(command.to.lease_seconds, ctx.rules)) return refuse(head, 'INVALID_LEASE');
  if (!command.to.facts.known)
    return refuse(head, 'UNKNOWN_TASK', unknownSubjectDenial(command.to.facts).details);
  if (command.to.facts.session_closed) return refuse(head, 'SESSION_CLOSED');
  if (command.to.facts.edge?.second_agent) return refuse(head, 'DENIED_SINGLE_AGENT');
  if (head.phase === 'COMPLETED') return refuse(head, 'DENIED_COMPLETED');
  const denial = readinessDenial({ ...head, retry_at_ms: null }, command.to, ctx);
  if (denial !== null) return refuse(head, denial.code, denial.details);
  const builder = new DecisionBuilder(head, ctx);
  emitSupersede(builder, command);
  if (holdReason(builder.head, ctx.now_ms, ctx.rules) !== null) {
    builder.emit('unheld', operatorActor(head, command.by), { reason: command.reason, by: command.by });
  }
  emitGrant(builder, command.to, ctx);
  const expires_at_ms = builder.head.claim?.expires_at_ms ?? null;
  return builder.build('REASSIGNED', { expires_at_ms }, { not_after_ms: expires_at_ms });
}

function emitSupersede(builder: DecisionBuilder, command: OperatorFields): void {
  if (!hasOpenClaim(builder.head)) return;
  builder.emit('lost', holderActor(builder.head), {
    cause: 'SUPERSEDED',
    disposition: 'eligible',
    by: command.by,
    reason: command.reason,
  });
}

/** Reopens a completed subject. The generation is kept, so that old handles stay invalid. */
export function decideReset(head: Head, command: ResetCommand, ctx: DecisionContext): Decision {
  if (isGenerationStale(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (head.phase !== 'COMPLETED') return refuse(head, 'NOT_COMPLETED');
  return new DecisionBuilder(head, ctx)
    .emit('reset', operatorActor(head, command.by), {
      reason: command.reason,
      by: command.by,
      epoch: head.epoch + 1,
    })
    .build('RESET');
}

export function decideHold(head: Head, command: HoldCommand, ctx: DecisionContext): Decision {
  if (isGenerationStale(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (head.hold?.reason === command.reason) return replay(head, 'HELD');
  return new DecisionBuilder(head, ctx)
    .emit('held', operatorActor(head, command.by), { reason: command.reason, by: command.by })
    .build('HELD');
}

export function decideUnhold(head: Head, command: UnholdCommand, ctx: DecisionContext): Decision {
  if (isGenerationStale(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (holdReason(head, ctx.now_ms, ctx.rules) === null) return replay(head, 'UNHELD');
  return new DecisionBuilder(head, ctx)
    .emit('unheld', operatorActor(head, command.by), { reason: command.reason, by: command.by })
    .build('UNHELD');
}

function refuseFailingChecks(head: Head, failing: readonly FailingCheck[]): Decision {
  const names = failing.map(({ name }) => name).join(', ');
  const message = `Whoever submitted this result did not pass ${names}. Claim the edge, pass the checks, and submit it anew.`;
  return refuse(head, 'NOT_CONVERGED', { failing, says: message });
}

/** Makes a parked result the accepted one. The adoption gets its own generation, granted and accepted in one commit. */
export function decideAdopt(head: Head, command: AdoptCommand, ctx: DecisionContext): Decision {
  const { parked } = command;
  if (isGenerationStale(head, command)) return refuse(head, 'GENERATION_MISMATCH');
  if (head.phase === 'COMPLETED') return refuse(head, 'DENIED_COMPLETED');
  if (parked === null) return refuse(head, 'UNKNOWN_RESULT');
  if (command.failing !== undefined && command.failing.length > 0)
    return refuseFailingChecks(head, command.failing);
  const builder = new DecisionBuilder(head, ctx);
  emitSupersede(builder, command);
  const grantee = { agent_id: command.by, session_id: command.session_id, agent_role: null };
  emitGrant(
    builder,
    {
      ...grantee,
      user_id: command.by,
      lease_seconds: null,
      request_id: command.request_id,
      metadata: null,
      facts: { known: true, session_closed: false, waiting_for: [], inputs: null, reached_limit: null },
    },
    ctx,
  );
  builder.emit('adopted', holderActor(builder.head), {
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
  return builder.build('ADOPTED', { result: parked.result });
}
