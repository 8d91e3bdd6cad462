import type { Head } from '../../core/claims/head.js';
import { canTakeOver, isStale } from '../../core/claims/lease.js';
import { openGateOf } from '../../core/claims/open-gate.js';
import type { Rules } from '../../core/claims/policy.js';
import { adviceFor } from '../../core/contract/codes.js';
import { describeEvidencePolicy, runnersIn } from '../../core/engine/evidence-policy.js';
import { isoTime } from '../../core/events/envelope.js';
import type { Feature, Methodology } from '../../core/methodology/definition/methodology.js';
import type {
  EdgeClaim,
  FeatureRow,
  MethodologyState,
  RouteInput,
} from '../../core/methodology/progress/feature-state.js';
import { featureRows } from '../../core/methodology/progress/rows.js';
import { featureSubject, METHODOLOGY_SUBJECT, POLICY_SUBJECT, RUNNERS_SUBJECT } from '../../core/subject.js';
import type { WorkState } from '../../core/views/index.js';
import { policyFromRecord } from '../queue/rules-cache.js';

interface RulesContext {
  readonly now_ms: number;
  rulesOf(subject: string): Rules;
}

/** The input of the methodology's commands and views. Transactions do not check the heads that are read for it. */
export function viewInputOf(
  work: WorkState,
  state: MethodologyState,
  rulesContext: RulesContext,
): RouteInput {
  const { now_ms } = rulesContext;
  const claimOnSubject = (subject: string): EdgeClaim | null => {
    const head = work.heads.get(subject);
    return head === undefined ? null : edgeClaimOf(head, now_ms, rulesContext.rulesOf(subject));
  };
  return {
    methodology: (work.records.get(METHODOLOGY_SUBJECT)?.value ?? null) as Methodology | null,
    rows: featureRows(featuresOf(work), state, claimOnSubject),
    state,
    now_ms,
    evidence: evidencePolicyOf(work),
    request: {},
  };
}

function evidencePolicyOf({ records }: WorkState) {
  const policy = policyFromRecord(records.get(POLICY_SUBJECT)).evidence;
  return describeEvidencePolicy(policy, runnersIn(records.get(RUNNERS_SUBJECT) ?? null));
}

/** Why a command was refused. */
export interface Refusal<Code> {
  readonly code: Code;
  readonly says: string;
}

export const NOT_INITIALISED = { code: 'NOT_INITIALISED', says: adviceFor('NOT_INITIALISED') } as const;

export const unknownFeature = (featureId: string | undefined): Refusal<'UNKNOWN_FEATURE'> => ({
  code: 'UNKNOWN_FEATURE',
  says: `There is no feature ${featureId}. ${adviceFor('UNKNOWN_FEATURE')}`,
});

export const rowOf = ({ rows }: RouteInput, featureId: string): FeatureRow | undefined =>
  rows.find(({ feature }) => feature.feature_id === featureId);

const FEATURE_PREFIX = featureSubject('');

const featuresOf = ({ records }: WorkState): Feature[] =>
  [...records.values()]
    .filter(({ subject }) => subject.startsWith(FEATURE_PREFIX))
    .map(({ value }) => value as unknown as Feature);

/** The edge's claim as shown to people; null if the edge is not claimed. */
function edgeClaimOf(head: Head, nowMs: number, rules: Rules): EdgeClaim | null {
  const { claim, generation } = head;
  if (claim === null || claim.state === 'RELEASED' || claim.state === 'SUPERSEDED') return null;
  const { agent_id, agent_role, claimed_at_ms } = claim;
  const state = edgeClaimState(head, nowMs, rules);
  return { agent_id, agent_role, generation, state, since: isoTime(claimed_at_ms) };
}

function edgeClaimState(head: Head, nowMs: number, rules: Rules): EdgeClaim['state'] {
  if (canTakeOver(head, nowMs, rules)) return 'lease_expired';
  if (head.claim?.state === 'SUSPENDED') return openGateOf(head) === null ? 'suspended' : 'awaiting_human';
  return isStale(head, nowMs, rules) ? 'stale' : 'held';
}
