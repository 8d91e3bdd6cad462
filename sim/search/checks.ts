import type { ClaimsCommand, Context, Decision, Handle } from '../../src/core/claims/commands.js';
import { decide } from '../../src/core/claims/decide.js';
import { evolve } from '../../src/core/claims/evolve.js';
import { factOf } from '../../src/core/claims/facts.js';
import type { Head, HeldClaim } from '../../src/core/claims/head.js';
import { sameValue } from '../../src/core/claims/invariants/same.js';
import { checkStep, type Say } from '../../src/core/claims/invariants/step.js';
import type { Rules } from '../../src/core/claims/policy.js';
import { msOf } from '../../src/core/events/envelope.js';
import { canonical } from './canonical.js';

/** Everything that must hold of one decision. */
export function checkDecision(decision: Decision, command: ClaimsCommand, ctx: Context, say: Say): void {
  const { head, next, events } = decision;
  const documented = decision.code === 'ESCALATED';
  checkTold(decision, ctx, say);
  if ((!decision.ok && !documented) || decision.details.replayed === true) {
    if (next !== head || events.length > 0) say('INV-07', `${decision.code}, and yet something happened`);
    return;
  }
  if (next === head) return;
  checkHandle(head, command, ctx, say);
  checkFacts(decision, command, say);
  if (next.generation > head.generation) checkTakeover(head, command, ctx, say);
  checkEvents(decision, ctx, say);
}

function checkEvents({ head, next, events }: Decision, ctx: Context, say: Say): void {
  let before = head;
  for (const event of events) {
    if (event.seq !== before.seq + 1) say('INV-09', `seq ${event.seq} after ${before.seq}`);
    if (msOf(event.timestamp) < before.last_at_ms) say('INV-09', 'time ran back');
    // References are the coordinator's to make, so what they say is not this search's matter.
    checkStep({ fact: factOf(event.event_type), event, before, rules: ctx.rules }, (invariant, says) => {
      if (invariant !== 'INV-17') say(invariant, says);
    });
    before = evolve(before, event);
  }
  if (!sameValue(before, next)) say('INV-08', 'the fold of the events is another head');
  if (next.generation < head.generation) say('INV-01', 'the generation fell');
  if (next.failures > next.generation) say('INV-12', 'a generation counts as more than one failure');
  if (head.phase === 'COMPLETED' && next.phase === 'OPEN' && next.epoch !== head.epoch + 1) {
    say('INV-16', 'open again in the same epoch');
  }
}

const handleOf = (command: ClaimsCommand): Handle | null => ('handle' in command ? command.handle : null);

function checkHandle(head: Head, command: ClaimsCommand, ctx: Context, say: Say): void {
  const handle = handleOf(command);
  const { claim, generation } = head;
  if ('expected_generation' in command && command.expected_generation !== generation) {
    say('INV-05', 'a human changed a generation that they had not seen');
  }
  if (handle === null) return;
  const id = ctx.claimIdOf({ generation, request_id: claim?.request_id ?? null });
  const mine =
    claim?.session_id === handle.session_id && (handle.claim_id === null || handle.claim_id === id);
  if (handle.generation !== generation || !mine) say('INV-05', 'a handle that is not the head’s took effect');
}

/** Written out again on purpose: the search must not believe the rules it judges. */
function freeFromMs(claim: HeldClaim, rules: Rules): number {
  const ends = [claim.max_hold_until_ms];
  if (rules.stale_policy === 'takeover') {
    ends.push(claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms);
  }
  const known = ends.filter((end) => end !== null);
  return Math.min(Number.POSITIVE_INFINITY, ...known) + rules.skew_margin_ms;
}

/** What time has decided is what is told: of leases, of claims that others hold, of work that comes too late. */
function checkTold({ code, head, next, details }: Decision, { now_ms, rules }: Context, say: Say): void {
  const { claim } = next;
  const until_ms = claim?.state === 'SUSPENDED' ? claim.suspended_until_ms : claim?.expires_at_ms;
  if (code === 'RENEWED' && details.expires_at_ms !== until_ms) {
    say('INV-10', 'the holder was told of a lease that the head does not have');
  }
  const isFree = head.claim !== null && now_ms >= freeFromMs(head.claim, rules);
  if (code === 'DENIED_ACTIVE_CLAIM' && isFree) say('L1', 'refused for a claim whose time was up');
  const refusesLate = rules.late_submit === 'reject' && rules.stale_policy === 'takeover';
  if (code === 'ACCEPTED' && details.late === true && refusesLate) say('INV-04', 'accepted after its time');
}

/** What is known beside the head stands against a grant whatever the head says. */
function checkFacts({ code }: Decision, command: ClaimsCommand, say: Say): void {
  if (command.type !== 'claim' || code !== 'GRANTED') return;
  const { known, session_closed, waiting_for, full } = command.facts;
  if (!known || session_closed || waiting_for.length > 0 || full !== null) {
    say('INV-19', 'granted against what the plan, the session or a limit said');
  }
}

function checkTakeover(head: Head, command: ClaimsCommand, ctx: Context, say: Say): void {
  const open = head.claim !== null && (head.claim.state === 'ACTIVE' || head.claim.state === 'SUSPENDED');
  if (!open || command.type === 'reassign' || command.type === 'adopt') return;
  if (ctx.now_ms < freeFromMs(head.claim as HeldClaim, ctx.rules))
    say('INV-04', 'taken over before its time');
}

/** The sweeper never changes an answer: whether or not it came by first, the code and the head are the same. */
export function checkSweeper(
  decision: Decision,
  swept: Head,
  command: ClaimsCommand,
  ctx: Context,
  say: Say,
): void {
  if (command.type === 'expire') return;
  const other = decide(swept, command, ctx);
  if (other.code !== decision.code || other.ok !== decision.ok) {
    say('INV-12', `${decision.code} before the sweeper, ${other.code} after it`);
  } else if (!sameValue(decision.details, other.details)) {
    say('INV-12', `${decision.code} with other details once the sweeper came by`);
  }
  // Where nothing happened either way, sweeping the one head gives the other.
  if (decision.next === decision.head && other.next === swept) return;
  if (sweptKey(decision.next, ctx) !== sweptKey(other.next, ctx)) {
    say('INV-12', `${decision.code}, and the head depends on whether the sweeper came by`);
  }
}

const sweptKey = (head: Head, ctx: Context): string =>
  canonical(decide(head, { type: 'expire' }, ctx).next, ctx.now_ms, ctx.rules);

/** A human can always make the subject claimable again, short of a limit that only an admin raises. */
export function checkWayOut(head: Head, claim: ClaimsCommand, ctx: Context, say: Say): void {
  if (head.generation >= ctx.rules.max_generations_per_task) return;
  const seen = { expected_generation: head.generation, reason: 'way out', by: 'hana' };
  const freed = (['reset', 'force_release', 'hold', 'unhold'] as const).reduce(
    (at, type) => decide(at, { type, ...seen }, ctx).next,
    head,
  );
  const { code } = decide(freed, claim, ctx);
  if (code !== 'GRANTED') say('L3', `no human gets it going again: ${code}`);
}
