import {
  DEFAULT_POLICY,
  type Limits,
  type Policy,
  type Rules,
  rulesLookup,
} from '../../core/claims/policy.js';
import type { RecordHead } from '../../core/record.js';

/** The policy of a project, and the rules that follow from it. */
export class ProjectRules {
  readonly policy: Policy;
  readonly of: (subject: string) => Rules;

  constructor(
    readonly record: RecordHead | null,
    readonly limits: Limits,
    skewMarginMs: number,
  ) {
    this.policy = policyFromRecord(record);
    this.of = rulesLookup(this.policy, limits, skewMarginMs);
  }
}

/** Keeps the rules from one batch to the next: computing them takes as long as deciding several commands. */
export class RulesCache {
  private last: ProjectRules | null = null;

  constructor(private readonly skewMarginMs: number) {}

  /** The rules under this policy record and these limits, which are the same objects until they change. */
  get(record: RecordHead | null, limits: Limits): ProjectRules {
    if (this.last?.record !== record || this.last.limits !== limits)
      this.last = new ProjectRules(record, limits, this.skewMarginMs);
    return this.last;
  }
}

export const policyFromRecord = (record: RecordHead | null | undefined): Policy => ({
  ...DEFAULT_POLICY,
  ...(record?.value as Partial<Policy> | undefined),
});
