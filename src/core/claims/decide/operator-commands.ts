import type { FailingCheck } from '../../contract/checks.js';
import type { Decider, Decision, DecisionContext, OperatorFields, SubjectCommand } from '../commands.js';
import type { Head } from '../head.js';
import { holdText, isOpenClaim } from '../lease.js';
import { emitGrant, grantRefusal, readinessRefusal } from './claim.js';
import {
  DecisionBuilder,
  holderAttribution,
  operatorAttribution,
  refuse,
  succeedUnchanged,
} from './decision-builder.js';
import { resultFields } from './submit.js';

const hasOpenClaim = ({ claim }: Head): boolean => claim !== null && isOpenClaim(claim);

function decideForceRelease(head: Head, command: OperatorFields, context: DecisionContext): Decision {
  if (!hasOpenClaim(head) && head.claim?.state !== 'EXPIRED') return refuse(head, 'NO_CLAIM');
  return new DecisionBuilder(head, context)
    .emit('released', holderAttribution(head), { reason: 'FORCED', by: command.by, message: command.reason })
    .build('FORCED');
}

/** Ends the open claim and lifts the hold, if there are any, and grants the subject to the new holder, in one commit. */
function decideReassign(head: Head, command: SubjectCommand<'reassign'>, context: DecisionContext): Decision {
  const refusal =
    grantRefusal(head, command.to, context.rules) ??
    readinessRefusal({ ...head, retry_at_ms: null }, command.to, context);
  if (refusal !== null) return refuse(head, refusal.code, refusal.details);
  const builder = new DecisionBuilder(head, context);
  emitSupersede(builder, command);
  if (holdText(builder.head, context.now_ms, context.rules) !== null) {
    builder.emit('unheld', operatorAttribution(head, command.by), { reason: command.reason, by: command.by });
  }
  emitGrant(builder, command.to, context);
  const expires_at_ms = builder.head.claim?.expires_at_ms ?? null;
  return builder.build('REASSIGNED', { expires_at_ms }, { not_after_ms: expires_at_ms });
}

function emitSupersede(builder: DecisionBuilder, command: OperatorFields): void {
  if (!hasOpenClaim(builder.head)) return;
  builder.emit('lost', holderAttribution(builder.head), {
    cause: 'SUPERSEDED',
    disposition: 'eligible',
    by: command.by,
    reason: command.reason,
  });
}

/** Reopens a completed subject. The generation is kept, so that old handles stay invalid. */
function decideReset(head: Head, command: OperatorFields, context: DecisionContext): Decision {
  if (head.phase !== 'COMPLETED') return refuse(head, 'NOT_COMPLETED');
  return new DecisionBuilder(head, context)
    .emit('reset', operatorAttribution(head, command.by), {
      reason: command.reason,
      by: command.by,
      epoch: head.epoch + 1,
    })
    .build('RESET');
}

function decideHold(head: Head, command: OperatorFields, context: DecisionContext): Decision {
  if (head.hold?.reason === command.reason) return succeedUnchanged(head, 'HELD');
  return new DecisionBuilder(head, context)
    .emit('held', operatorAttribution(head, command.by), { reason: command.reason, by: command.by })
    .build('HELD');
}

function decideUnhold(head: Head, command: OperatorFields, context: DecisionContext): Decision {
  if (holdText(head, context.now_ms, context.rules) === null) return succeedUnchanged(head, 'UNHELD');
  return new DecisionBuilder(head, context)
    .emit('unheld', operatorAttribution(head, command.by), { reason: command.reason, by: command.by })
    .build('UNHELD');
}

function refuseFailingChecks(head: Head, failing: readonly FailingCheck[]): Decision {
  const names = failing.map(({ name }) => name).join(', ');
  const message = `The result did not pass ${names}. Claim the edge, pass the checks and submit it again.`;
  return refuse(head, 'NOT_CONVERGED', { failing, says: message });
}

/**
 * Makes a parked or imported result the accepted one. The adoption has its own generation, which is granted and accepted in
 * one commit.
 */
function decideAdopt(head: Head, command: SubjectCommand<'adopt'>, context: DecisionContext): Decision {
  const { adopted } = command;
  if (head.phase === 'COMPLETED') return refuse(head, 'DENIED_COMPLETED');
  if (adopted === null) return refuse(head, 'UNKNOWN_RESULT');
  if (command.failing !== undefined && command.failing.length > 0)
    return refuseFailingChecks(head, command.failing);
  const builder = new DecisionBuilder(head, context);
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
      facts: {
        is_known_subject: true,
        is_session_closed: false,
        waiting_for: [],
        inputs: null,
        reached_limit: null,
      },
    },
    context,
  );
  builder.emit('adopted', holderAttribution(builder.head), {
    reason: command.reason,
    by: command.by,
    adopted_from: adopted.from,
    ...resultFields(adopted.result),
  });
  return builder.build('ADOPTED', { result: adopted.result });
}

/** A command of an operator must name the generation that the operator saw, or it could undo an unseen change. */
const requireGeneration =
  <Command extends OperatorFields>(decide: Decider<Command>): Decider<Command> =>
  (head, command, context) => {
    if (head.generation !== command.expected_generation) return refuse(head, 'GENERATION_MISMATCH');
    return decide(head, command, context);
  };

export const OPERATOR_DECIDERS = {
  force_release: requireGeneration(decideForceRelease),
  reassign: requireGeneration(decideReassign),
  reset: requireGeneration(decideReset),
  hold: requireGeneration(decideHold),
  unhold: requireGeneration(decideUnhold),
  adopt: requireGeneration(decideAdopt),
};
