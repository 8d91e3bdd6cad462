import type { EventEnvelope } from '../events/envelope.js';
import type { AnyHead } from '../fold.js';
import { evolveRecord } from '../record.js';
import { LOSS_SUBJECT, POLICY_SUBJECT, subjectKindOf } from '../subject.js';
import { type InvariantViolation, LogChecker } from './invariants.js';
import {
  DEFAULT_LIMITS,
  DEFAULT_POLICY,
  generationFloor,
  type Limits,
  type Policy,
  type Rules,
  rulesFor,
} from './policy.js';

/** Checks a log without other input: the policy in force at each event is read from the log itself. */
export class PolicyAwareLogChecker {
  private readonly checker = new LogChecker((subject) => this.rulesOf(subject));
  private policy: Policy = DEFAULT_POLICY;
  private generationFloor = 0;

  constructor(
    /** Only for callers of `rulesOf`: no invariant reads the limits, since each grant records its own lease. */
    private readonly limits: Limits = DEFAULT_LIMITS,
    private readonly skewMarginMs = 0,
  ) {}

  checkEvent(event: EventEnvelope): InvariantViolation[] {
    const violations = this.checker.checkEvent(event);
    if (event.subject === POLICY_SUBJECT) this.policy = policyOf(event);
    if (event.subject === LOSS_SUBJECT) this.generationFloor = generationFloor(evolveRecord(null, event));
    return violations;
  }

  checkHeads(heads: Iterable<AnyHead>): InvariantViolation[] {
    return this.checker.checkHeads(heads);
  }

  /** Rules of a subject after the last event seen. */
  rulesOf(subject: string): Rules {
    const { policy, limits, skewMarginMs } = this;
    return rulesFor(subjectKindOf(subject), policy, limits, skewMarginMs, this.generationFloor);
  }
}

const policyOf = ({ payload }: EventEnvelope): Policy => ({
  ...DEFAULT_POLICY,
  ...(payload.record as Partial<Policy>),
});
