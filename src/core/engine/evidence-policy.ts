import type { EvidencePolicy } from '../contract/values.js';
import type { RecordHead } from '../record.js';
import type { Runners } from './evidence.js';

/** The runners in a record; none if there is no record. A record is validated when it is written, so not here. */
export const runnersIn = (record: RecordHead | null): Runners =>
  (record?.value as { readonly runners?: Runners } | undefined)?.runners ?? {};

const ENROL_ADVICE = 'An admin enrols one: gen runner enrol --label NAME, then gen runner run.';
const NO_RUNNER = `The policy \`evidence\` is verified, and no runner is enrolled. ${ENROL_ADVICE}`;

/** Which results of deterministic checks count in this project. */
export interface EvidencePolicyStatus {
  readonly policy: EvidencePolicy;
  /** Number of enrolled runners. */
  readonly runners: number;
  readonly says: string;
  /** Whether edges with required deterministic checks cannot converge, because no runner is enrolled. */
  readonly is_blocked: boolean;
}

export function describeEvidencePolicy(policy: EvidencePolicy, runners: Runners): EvidencePolicyStatus {
  const enrolledCount = Object.values(runners).filter(({ state }) => state === 'enrolled').length;
  const is_blocked = policy === 'verified' && enrolledCount === 0;
  return {
    policy,
    runners: enrolledCount,
    says: is_blocked ? NO_RUNNER : EVIDENCE_POLICY_TEXTS[policy],
    is_blocked,
  };
}

const EVIDENCE_POLICY_TEXTS: Readonly<Record<EvidencePolicy, string>> = {
  reported: 'The results of deterministic checks count as the agent reports them; no runner verifies them.',
  verified: 'The results of deterministic checks count only with evidence of an enrolled runner.',
};
