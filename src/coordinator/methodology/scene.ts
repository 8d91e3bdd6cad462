import type { Head } from '../../core/claims/head.js';
import { stale, takeable } from '../../core/claims/lease.js';
import type { Rules } from '../../core/claims/policy.js';
import { isoTime } from '../../core/events/envelope.js';
import type { EdgeClaim, FeatureRow, MethodologyState } from '../../core/features/feature-state.js';
import { rowsOf } from '../../core/features/rows.js';
import type { FeatureVector, Methodology } from '../../core/graph/methodology.js';
import type { RouteQuestion } from '../../core/graph/route.js';
import { featureSubject, METHODOLOGY_SUBJECT } from '../../core/subject.js';
import type { WorkState } from '../../core/views/index.js';

/** Everything that the methodology's commands and views look at; it insists on nothing. */
export type Scene = RouteQuestion;

export interface Vantage {
  readonly now_ms: number;
  rulesOf(subject: string): Rules;
}

export function sceneOf(work: WorkState, state: MethodologyState, vantage: Vantage): Scene {
  const { now_ms } = vantage;
  const claims = (subject: string): EdgeClaim | null => {
    const head = work.heads.get(subject);
    return head === undefined ? null : claimOf(head, now_ms, vantage.rulesOf(subject));
  };
  const methodology = work.records.get(METHODOLOGY_SUBJECT)?.value as unknown as Methodology | undefined;
  return {
    methodology: methodology ?? null,
    rows: rowsOf(vectorsOf(work), state, claims),
    state,
    now_ms,
    asked: {},
  };
}

export const rowOf = ({ rows }: Scene, feature_id: string): FeatureRow | undefined =>
  rows.find(({ vector }) => vector.feature_id === feature_id);

const FEATURE_PREFIX = featureSubject('');

function vectorsOf({ records }: WorkState): FeatureVector[] {
  const vectors: FeatureVector[] = [];
  for (const { subject, value } of records.values()) {
    if (subject.startsWith(FEATURE_PREFIX)) vectors.push(value as unknown as FeatureVector);
  }
  return vectors;
}

/** Who has the edge, as people are told; null: nobody. */
function claimOf(head: Head, now_ms: number, rules: Rules): EdgeClaim | null {
  const { claim, generation } = head;
  if (claim === null || claim.state === 'RELEASED' || claim.state === 'SUPERSEDED') return null;
  const { agent_id, agent_role, claimed_at_ms } = claim;
  const state = claimState(head, now_ms, rules);
  return { agent_id, agent_role, generation, state, since: isoTime(claimed_at_ms) };
}

function claimState(head: Head, now_ms: number, rules: Rules): EdgeClaim['state'] {
  if (takeable(head, now_ms, rules)) return 'lease_expired';
  if (head.claim?.state === 'SUSPENDED') return 'awaiting_human';
  return stale(head, now_ms, rules) ? 'stale' : 'held';
}
