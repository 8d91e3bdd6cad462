import type { Context, Decision, ReviewCommand } from '../commands.js';
import type { Gate, Head, HeldClaim } from '../head.js';
import { finiteOrNull, lapsesAtMs, takeable } from '../lease.js';
import { freshLease } from './renew.js';
import { resultFields } from './submit.js';
import { type Actor, holder, operator, refuse, replay, Telling } from './tell.js';

/** A decision counts once, and only for the candidate that was looked at. */
export function decideReview(head: Head, command: ReviewCommand, ctx: Context): Decision {
  const { gate } = head;
  if (gate === null || !isAbout(gate, command) || gate.generation !== head.generation) {
    return refuse(head, 'STALE_REVIEW');
  }
  if (gate.decision !== null) {
    const same = gate.decision === command.decision && gate.reviewer === command.reviewer;
    return same ? replay(head, command.decision) : refuse(head, 'ALREADY_DECIDED');
  }
  if (head.claim?.state !== 'SUSPENDED' || takeable(head, ctx.now_ms, ctx.rules)) {
    return refuse(head, 'STALE_REVIEW');
  }
  // Approval makes a candidate the result: like any result, it must be built on what counts now.
  const accepts = command.decision === 'APPROVED' && gate.candidate !== null;
  if (accepts && head.claim.inputs !== command.inputs) return refuse(head, 'DEPENDENCY_CHANGED');
  const telling = new Telling(head, ctx);
  const reviewer: Actor = operator(head, command.reviewer);
  const said = {
    decision: command.decision,
    iteration: command.iteration,
    candidate_sha256: command.candidate_sha256,
    reviewer: command.reviewer,
    ...(command.comment === null ? {} : { comment: command.comment }),
  };
  if (command.decision === 'APPROVED' && gate.candidate !== null) {
    telling.tell('reviewed', reviewer, said);
    telling.tell('accepted', holder(head), {
      outcome: 'ACCEPTED',
      late: false,
      ...resultFields(gate.candidate),
    });
  } else if (command.decision === 'REJECTED') {
    telling.tell('reviewed', reviewer, said);
    telling.tell('released', holder(head), { reason: 'FORCED', by: command.reviewer });
    telling.tell('held', reviewer, { reason: rejection(command), by: command.reviewer });
  } else {
    // Approved without a candidate in hand, or changes wanted: the holder goes on with a fresh lease.
    telling.tell('reviewed', reviewer, { ...said, ...freshLease(head.claim as HeldClaim, telling.at_ms) });
  }
  const not_after_ms = finiteOrNull(lapsesAtMs(head.claim, ctx.rules) + ctx.rules.skew_margin_ms);
  return telling.done(command.decision, {}, { not_after_ms });
}

const isAbout = (gate: Gate, command: ReviewCommand): boolean =>
  gate.generation === command.generation &&
  gate.iteration === command.iteration &&
  gate.candidate_sha256 === command.candidate_sha256;

const rejection = (command: ReviewCommand): string =>
  `rejected in review by ${command.reviewer}${command.comment === null ? '' : `: ${command.comment}`}`;
