import type { Limits } from '../../src/core/claims/policy.js';
import { PolicyAwareLogChecker } from '../../src/core/claims/policy-aware-log-checker.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { AnyHead } from '../../src/core/fold.js';
import { ClaimLimitCheck } from './check/claim-limit.js';
import { matchEffects } from './check/effects.js';
import { LogTimeline } from './check/log-timeline.js';
import { checkOrder } from './check/order.js';
import { checkRefusals } from './check/refusals.js';
import { ObservedStoreClock } from './check/store-clock.js';
import { type HistoryViolation, violation } from './check/violation.js';
import type { RecordedCall } from './history.js';

export type { HistoryViolation } from './check/violation.js';

/** The evidence of a run: the calls of the clients, and afterwards the contents of the store. */
interface RecordedHistory {
  readonly calls: readonly RecordedCall[];
  /** The whole log of the project, in order. */
  readonly events: readonly EventEnvelope[];
  /** The heads that the store keeps; undefined: not checked. */
  readonly heads?: readonly AnyHead[];
}

/** The rules that the run is checked against. */
interface HistoryCheckOptions {
  readonly limits: Limits;
  /** Whether the store keeps everything that it has acknowledged. */
  readonly isDurable: boolean;
  readonly skew_margin_ms: number;
  /** Allowed difference between the store's clock and the driver's estimate of it. */
  readonly tolerance_ms: number;
}

/** Checks a history against the rules and the log. Returns the violations. */
export function checkHistory(
  { calls, events, heads }: RecordedHistory,
  options: HistoryCheckOptions,
): HistoryViolation[] {
  const newChecker = () => new PolicyAwareLogChecker(options.limits, options.skew_margin_ms);
  const effects = matchEffects(calls, events, options.isDurable);
  const timeline = new LogTimeline(events, effects, newChecker());
  const clock = new ObservedStoreClock(effects, options.tolerance_ms);
  const limit = new ClaimLimitCheck(timeline, options.limits.max_concurrent_claims);
  return [
    ...checkLog(events, newChecker(), heads),
    ...effects.violations,
    ...checkOrder(timeline, effects),
    ...checkRefusals(calls, { timeline, effects, limit, clock }),
    ...limit.check(clock),
  ];
}

/** Checks the log on its own. */
function checkLog(
  events: readonly EventEnvelope[],
  checker: PolicyAwareLogChecker,
  heads: readonly AnyHead[] | undefined,
): HistoryViolation[] {
  const violations: HistoryViolation[] = [];
  const ids = new Set<string>();
  for (const event of events) {
    if (ids.has(event.event_id)) violations.push(violation('INV-21', 'an event occurs twice', [], [event]));
    ids.add(event.event_id);
    for (const { invariant, message: says } of checker.checkEvent(event)) {
      violations.push(
        violation(invariant as `INV-${string}`, `${event.subject ?? 'the log'}: ${says}`, [], [event]),
      );
    }
  }
  for (const { invariant, subject, message: says } of heads === undefined ? [] : checker.checkHeads(heads)) {
    violations.push(violation(invariant as `INV-${string}`, `${subject}: ${says}`, []));
  }
  return violations;
}
