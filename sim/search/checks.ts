import type {
  ClaimHandle,
  Decision,
  DecisionContext,
  SubjectCommand,
} from '../../src/core/claims/commands.js';
import { decide } from '../../src/core/claims/decide.js';
import { evolve } from '../../src/core/claims/evolve.js';
import type { Head, LastClaim } from '../../src/core/claims/head.js';
import { checkTransition, type ReportViolation } from '../../src/core/claims/invariants/transition.js';
import type { Rules } from '../../src/core/claims/policy.js';
import { msOf } from '../../src/core/events/envelope.js';
import { isJsonEqual } from '../../src/core/json-equal.js';
import { canonicalHead } from './canonical.js';

/** Checks the invariants that concern a single decision. */
export function checkDecision(
  decision: Decision,
  command: SubjectCommand,
  context: DecisionContext,
  report: ReportViolation,
): void {
  const { head, next, events } = decision;
  const isEscalated = decision.code === 'ESCALATED';
  checkReplyDetails(decision, context, report);
  if ((!decision.ok && !isEscalated) || decision.details.replayed === true) {
    if (next === head && events.length === 0) return;
    checkSignOfLife(decision, command, context, report);
    return;
  }
  if (next === head) return;
  checkHandle(head, command, context, report);
  checkGrantFacts(decision, command, report);
  if (next.generation > head.generation) checkTakeover(head, command, context, report);
  checkEvents(decision, context, report);
}

/**
 * INV-07: a refusal changes nothing, except that it may record a sign of life, which extends no lease. INV-05: a sign of life
 * needs the handle. Its event must be valid like the events of every decision.
 */
function checkSignOfLife(
  decision: Decision,
  command: SubjectCommand,
  context: DecisionContext,
  report: ReportViolation,
): void {
  const { head, next, events, code } = decision;
  const signOfLife = { active_at_ms: next.last_at_ms, stale: false };
  const claim = head.claim === null ? null : { ...head.claim, ...signOfLife };
  const expected = { ...head, claim, seq: head.seq + 1, last_at_ms: next.last_at_ms };
  const isOnlySignOfLife =
    events.length === 1 && head.claim?.state === 'ACTIVE' && isJsonEqual(next, expected);
  if (!isOnlySignOfLife) report('INV-07', `${code} changed the state`);
  checkHandle(head, command, context, report);
  checkEvents(decision, context, report);
}

function checkEvents(
  { head, next, events }: Decision,
  context: DecisionContext,
  report: ReportViolation,
): void {
  let current = head;
  for (const event of events) {
    if (event.seq !== current.seq + 1) report('INV-09', `seq ${event.seq} after ${current.seq}`);
    if (msOf(event.timestamp) < current.last_at_ms) report('INV-09', 'the time goes backwards');
    // INV-17 is about work product references, which the coordinator adds: this search has none.
    checkTransition({ event, before: current, rules: context.rules }, (invariant, message) => {
      if (invariant !== 'INV-17') report(invariant, message);
    });
    current = evolve(current, event);
  }
  if (!isJsonEqual(current, next)) report('INV-08', 'the fold of the events gives another head');
  if (next.generation < head.generation) report('INV-01', 'the generation decreased');
  if (next.failures > next.generation) report('INV-12', 'a generation counts as more than one failure');
  if (head.phase === 'COMPLETED' && next.phase === 'OPEN' && next.epoch !== head.epoch + 1) {
    report('INV-16', 'reopened in the same epoch');
  }
}

const handleOf = (command: SubjectCommand): ClaimHandle | null =>
  'handle' in command ? command.handle : null;

function checkHandle(
  head: Head,
  command: SubjectCommand,
  context: DecisionContext,
  report: ReportViolation,
): void {
  const handle = handleOf(command);
  const { claim, generation } = head;
  if ('expected_generation' in command && command.expected_generation !== generation) {
    report('INV-05', 'an operator changed a generation other than the expected one');
  }
  if (handle === null) return;
  const id = context.claimIdOf({ generation, request_id: claim?.request_id ?? null });
  const isOwner =
    claim?.session_id === handle.session_id && (handle.claim_id === null || handle.claim_id === id);
  if (handle.generation !== generation || !isOwner) report('INV-05', 'a handle of another claim took effect');
}

/** When a claim may be taken over. Deliberately reimplemented: the search must not rely on the rules that it checks. */
function freeFromMs(claim: LastClaim, rules: Rules): number {
  const ends = [claim.max_hold_until_ms];
  if (rules.stale_policy === 'takeover') {
    ends.push(claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms);
  }
  const knownEnds = ends.filter((end) => end !== null);
  return Math.min(Number.POSITIVE_INFINITY, ...knownEnds) + rules.skew_margin_ms;
}

/** Checks the details of a reply that depend on time: leases, claims of others, late submissions. */
function checkReplyDetails(
  { code, head, next, details }: Decision,
  { now_ms, rules }: DecisionContext,
  report: ReportViolation,
): void {
  const { claim } = next;
  const untilMs = claim?.state === 'SUSPENDED' ? claim.suspended_until_ms : claim?.expires_at_ms;
  if (code === 'RENEWED' && details.expires_at_ms !== untilMs) {
    report('INV-10', 'the holder got a lease that the head does not have');
  }
  const isFree = head.claim !== null && now_ms >= freeFromMs(head.claim, rules);
  if (code === 'DENIED_ACTIVE_CLAIM' && isFree) report('L1', 'refused because of an expired claim');
  const isLateRejected = rules.late_submit === 'reject' && rules.stale_policy === 'takeover';
  if (code === 'ACCEPTED' && details.late === true && isLateRejected)
    report('INV-04', 'accepted after its lease expired');
}

/** Facts from outside the head that forbid a grant, whatever the head says. */
function checkGrantFacts({ code }: Decision, command: SubjectCommand, report: ReportViolation): void {
  if (command.type !== 'claim' || code !== 'GRANTED') return;
  const { is_known_subject, is_session_closed, waiting_for, reached_limit: reachedLimit } = command.facts;
  if (!is_known_subject || is_session_closed || waiting_for.length > 0 || reachedLimit !== null) {
    report('INV-19', 'granted against the plan, the session or a limit');
  }
}

function checkTakeover(
  head: Head,
  command: SubjectCommand,
  context: DecisionContext,
  report: ReportViolation,
): void {
  const isOpen = head.claim !== null && (head.claim.state === 'ACTIVE' || head.claim.state === 'SUSPENDED');
  if (!isOpen || command.type === 'reassign' || command.type === 'adopt') return;
  if (context.now_ms < freeFromMs(head.claim as LastClaim, context.rules))
    report('INV-04', 'taken over before its lease expired');
}

/** INV-12: the code and the details of a reply, and the head after it, are the same whether or not the sweeper ran first. */
export function checkSweeper(
  decision: Decision,
  swept: Head,
  command: SubjectCommand,
  context: DecisionContext,
  report: ReportViolation,
): void {
  if (command.type === 'expire') return;
  const afterSweep = decide(swept, command, context);
  if (afterSweep.code !== decision.code || afterSweep.ok !== decision.ok) {
    report('INV-12', `${decision.code} before the sweeper, ${afterSweep.code} after it`);
  } else if (!isJsonEqual(decision.details, afterSweep.details)) {
    report('INV-12', `${decision.code} with other details after the sweeper ran`);
  }
  // If neither decision changed anything, the two heads differ only by the sweep.
  if (decision.next === decision.head && afterSweep.next === swept) return;
  if (sweptKey(decision.next, context) !== sweptKey(afterSweep.next, context)) {
    report('INV-12', `after ${decision.code} the head depends on whether the sweeper ran`);
  }
}

const sweptKey = (head: Head, context: DecisionContext): string =>
  canonicalHead(decide(head, { type: 'expire' }, context).next, context.now_ms, context.rules);

/** A person can always make the subject claimable again, except at a limit that only an admin can raise. */
export function checkRecoverable(
  head: Head,
  claim: SubjectCommand,
  context: DecisionContext,
  report: ReportViolation,
): void {
  if (head.generation >= context.rules.max_generations_per_task) return;
  const operator = { expected_generation: head.generation, reason: 'way out', by: 'hana' };
  const freed = (['reset', 'force_release', 'hold', 'unhold'] as const).reduce(
    (current, type) => decide(current, { type, ...operator }, context).next,
    head,
  );
  const { code } = decide(freed, claim, context);
  if (code !== 'GRANTED') report('L3', `no operator command makes the subject claimable again: ${code}`);
}
