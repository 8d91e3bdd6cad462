import type { EventEnvelope } from '../events/envelope.js';
import type { AnyHead } from '../fold.js';
import { POLICY_SUBJECT, subjectKindOf } from '../subject.js';
import { type InvariantViolation, LogChecker } from './invariants.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Limits, type Policy, type Rules, rulesFor } from './policy.js';

/** Judges a log by nothing but itself: the policy that was in force at each event is the one that the log tells. */
export class PolicyAwareLogChecker {
  private readonly checker = new LogChecker((subject) => this.rulesOf(subject));
  private policy: Policy = DEFAULT_POLICY;

  constructor(
    /** What the limits were when a lease was granted is in the grant: no invariant asks for them, but others may. */
    private readonly limits: Limits = DEFAULT_LIMITS,
    private readonly skewMarginMs = 0,
  ) {}

  checkEvent(event: EventEnvelope): InvariantViolation[] {
    const violations = this.checker.checkEvent(event);
    if (event.subject === POLICY_SUBJECT) this.policy = policyOf(event);
    return violations;
  }

  checkHeads(heads: Iterable<AnyHead>): InvariantViolation[] {
    return this.checker.checkHeads(heads);
  }

  /** The rules of a subject, as they are after the last event seen. */
  rulesOf(subject: string): Rules {
    return rulesFor(subjectKindOf(subject), this.policy, this.limits, this.skewMarginMs);
  }
}

const policyOf = ({ payload }: EventEnvelope): Policy => ({
  ...DEFAULT_POLICY,
  ...(payload.record as Partial<Policy>),
});
