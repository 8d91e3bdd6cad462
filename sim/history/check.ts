import { LogJudge } from '../../src/core/claims/log-judge.js';
import type { Limits } from '../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { AnyHead } from '../../src/core/fold.js';
import { matchEffects } from './check/effects.js';
import { checkOrder } from './check/order.js';
import { Past } from './check/past.js';
import { checkRefusals } from './check/refusals.js';
import { Room } from './check/room.js';
import { StoreClock } from './check/store-clock.js';
import { type Violation, violation } from './check/violation.js';
import type { Call } from './history.js';

export type { Violation } from './check/violation.js';

/** What was seen of a run: by the clients, and afterwards in the store. */
export interface Evidence {
  readonly calls: readonly Call[];
  /** The whole log of the project, in its order. */
  readonly events: readonly EventEnvelope[];
  /** The heads that the store keeps; left out: not judged. */
  readonly heads?: readonly AnyHead[];
}

/** What the run was held to. */
export interface Terms {
  readonly limits: Limits;
  /** The store keeps whatever it acknowledged. */
  readonly durable: boolean;
  readonly skew_margin_ms: number;
  /** How far the store's clock may be from where the driver believes it to be. */
  readonly tolerance_ms: number;
}

/** Holds a history against the rules, with the log as its witness. Empty: there is nothing to be said against it. */
export function checkHistory({ calls, events, heads }: Evidence, terms: Terms): Violation[] {
  const judge = () => new LogJudge(terms.limits, terms.skew_margin_ms);
  const effects = matchEffects(calls, events, terms.durable);
  const past = new Past(events, effects, judge());
  const clock = new StoreClock(effects, terms.tolerance_ms);
  const room = new Room(past, terms.limits.max_concurrent_claims);
  return [
    ...checkLog(events, judge(), heads),
    ...effects.violations,
    ...checkOrder(past, effects),
    ...checkRefusals(calls, { past, effects, room, clock }),
    ...room.check(clock),
  ];
}

/** What the log says against itself. */
function checkLog(
  events: readonly EventEnvelope[],
  judge: LogJudge,
  heads: readonly AnyHead[] | undefined,
): Violation[] {
  const found: Violation[] = [];
  const ids = new Set<string>();
  for (const event of events) {
    if (ids.has(event.event_id)) found.push(violation('INV-21', 'an event is there twice', [], [event]));
    ids.add(event.event_id);
    for (const { invariant, says } of judge.see(event)) {
      found.push(
        violation(invariant as `INV-${string}`, `${event.subject ?? 'the log'}: ${says}`, [], [event]),
      );
    }
  }
  for (const { invariant, subject, says } of heads === undefined ? [] : judge.finish(heads)) {
    found.push(violation(invariant as `INV-${string}`, `${subject}: ${says}`, []));
  }
  return found;
}
