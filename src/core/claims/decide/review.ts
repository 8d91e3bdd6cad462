import type { Decision, DecisionContext, SubjectCommand } from '../commands.js';
import type { Gate, Head } from '../head.js';
import { canTakeOver, finiteOrNull, lapsesAtMs } from '../lease.js';
import {
  DecisionBuilder,
  holderAttribution,
  operatorAttribution,
  refuse,
  succeedUnchanged,
} from './decision-builder.js';
import { freshLease } from './holder-commands.js';
import { resultFields } from './submit.js';

type ReviewCommand = SubjectCommand<'record_review'>;

/** Decides a review. Each gate accepts one decision, and only for the candidate that was reviewed. */
export function decideReview(head: Head, command: ReviewCommand, context: DecisionContext): Decision {
  const { gate } = head;
  if (gate === null || !isGateOf(gate, command) || gate.generation !== head.generation) {
    return refuse(head, 'STALE_REVIEW');
  }
  if (gate.decision !== null) {
    const isRepeat = gate.decision === command.decision && gate.reviewer === command.reviewer;
    return isRepeat ? succeedUnchanged(head, command.decision) : refuse(head, 'ALREADY_DECIDED');
  }
  if (head.claim?.state !== 'SUSPENDED' || canTakeOver(head, context.now_ms, context.rules)) {
    return refuse(head, 'STALE_REVIEW');
  }
  const [unpassedCheck] = gate.failing ?? [];
  if (command.decision === 'APPROVED' && unpassedCheck !== undefined)
    return refuse(head, 'NOT_CONVERGED', {
      says: `Not all checks have passed, and an approval cannot replace them. ${unpassedCheck.name}: ${unpassedCheck.says} Request changes with a comment for the next iteration, or reject the candidate. If a check is wrong, change the checks of the edge first, then request changes.`,
    });
  // Approval accepts the candidate as the result, so its inputs must be current, as for every submission.
  const acceptedCandidate = command.decision === 'APPROVED' ? gate.candidate : null;
  if (acceptedCandidate !== null && head.claim.inputs !== command.inputs)
    return refuse(head, 'DEPENDENCY_CHANGED');
  const [failingCheck] = command.failing ?? [];
  if (acceptedCandidate !== null && failingCheck !== undefined)
    return refuse(head, 'NOT_CONVERGED', {
      says: `Not all checks have passed. ${failingCheck.name}: ${failingCheck.says} Request changes, or reject the candidate.`,
    });
  const builder = new DecisionBuilder(head, context);
  const { pushed_by } = command;
  const reviewer = operatorAttribution(head, pushed_by?.actor ?? command.reviewer);
  const isContinued = acceptedCandidate === null && command.decision !== 'REJECTED';
  builder.emit('reviewed', reviewer, {
    decision: command.decision,
    iteration: command.iteration,
    candidate_sha256: command.candidate_sha256,
    reviewer: command.reviewer,
    ...(pushed_by === undefined ? {} : { pushed_by: pushed_by.principal }),
    ...(command.comment === null ? {} : { comment: command.comment }),
    // Approved without a stored candidate, or changes requested: the holder continues with a fresh lease.
    ...(isContinued ? freshLease(head.claim, builder.at_ms) : {}),
  });
  if (acceptedCandidate !== null) {
    const result = { outcome: 'ACCEPTED', late: false, ...resultFields(acceptedCandidate) } as const;
    builder.emit('accepted', holderAttribution(head), result);
  } else if (command.decision === 'REJECTED') {
    builder.emit('released', holderAttribution(head), { reason: 'FORCED', by: command.reviewer });
    builder.emit('held', reviewer, { reason: rejectionText(command), by: command.reviewer });
  }
  const not_after_ms = finiteOrNull(lapsesAtMs(head.claim, context.rules) + context.rules.skew_margin_ms);
  return builder.build(command.decision, {}, { not_after_ms });
}

const isGateOf = (gate: Gate, command: ReviewCommand): boolean =>
  gate.generation === command.generation &&
  gate.iteration === command.iteration &&
  gate.candidate_sha256 === command.candidate_sha256;

const rejectionText = (command: ReviewCommand): string =>
  `rejected in review by ${command.reviewer}${command.comment === null ? '' : `: ${command.comment}`}`;
