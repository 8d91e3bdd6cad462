import {
  DEFAULT_POLICY,
  generationFloor,
  type Limits,
  type Policy,
  type Rules,
  rulesLookup,
} from '../../core/claims/policy.js';
import type { RecordHead } from '../../core/record.js';

/** The records of a project that its rules follow from. */
interface RuleRecords {
  readonly policy: RecordHead | null;
  readonly loss: RecordHead | null;
}

/** The policy of a project, and the rules that follow from it. */
export class ProjectRules {
  readonly policy: Policy;
  readonly of: (subject: string) => Rules;

  constructor(
    readonly records: RuleRecords,
    readonly limits: Limits,
    readonly skewMarginMs: number,
  ) {
    this.policy = policyFromRecord(records.policy);
    this.of = rulesLookup(this.policy, limits, skewMarginMs, generationFloor(records.loss));
  }
}

/** Keeps the rules from one batch to the next: computing them takes as long as deciding several commands. */
export class RulesCache {
  private last: ProjectRules | null = null;

  constructor(private readonly skewMarginMs: number) {}

  /** The rules under these records and limits, which are the same objects until they change. */
  get(policy: RecordHead | null, loss: RecordHead | null, limits: Limits): ProjectRules {
    const { last } = this;
    const isSame = last?.records.policy === policy && last.records.loss === loss && last.limits === limits;
    if (isSame) return last;
    this.last = new ProjectRules({ policy, loss }, limits, this.skewMarginMs);
    return this.last;
  }
}

export const policyFromRecord = (record: RecordHead | null | undefined): Policy => ({
  ...DEFAULT_POLICY,
  ...(record?.value as Partial<Policy> | undefined),
});
