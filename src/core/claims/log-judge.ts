import type { EventEnvelope } from '../events/envelope.js';
import type { AnyHead } from '../fold.js';
import { kindOf, POLICY_SUBJECT } from '../subject.js';
import { LogChecker, type Violation } from './invariants.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Limits, type Policy, type Rules, rulesFor } from './policy.js';

/** Judges a log by nothing but itself: the policy that was in force at each event is the one that the log tells. */
export class LogJudge {
  private readonly checker = new LogChecker((subject) => this.rulesOf(subject));
  private policy: Policy = DEFAULT_POLICY;

  constructor(
    /** What the limits were when a lease was granted is in the grant: no invariant asks for them, but others may. */
    private readonly limits: Limits = DEFAULT_LIMITS,
    private readonly skew_margin_ms = 0,
  ) {}

  see(event: EventEnvelope): Violation[] {
    const found = this.checker.see(event);
    if (event.subject === POLICY_SUBJECT) this.policy = policyIn(event);
    return found;
  }

  finish(heads: Iterable<AnyHead>): Violation[] {
    return this.checker.finish(heads);
  }

  /** The rules of a subject, as they are after the last event seen. */
  rulesOf(subject: string): Rules {
    return rulesFor(kindOf(subject), this.policy, this.limits, this.skew_margin_ms);
  }
}

const policyIn = ({ payload }: EventEnvelope): Policy => ({
  ...DEFAULT_POLICY,
  ...(payload.record as Partial<Policy>),
});
