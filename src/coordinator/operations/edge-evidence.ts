import type { EffectiveCheck } from '../../core/contract/checks.js';
import type { Explanation } from '../../core/contract/tasks.js';
import { checkDigestText } from '../../core/engine/check-digest.js';
import {
  type CandidateRecord,
  candidateRecord,
  type EvidenceFacts,
  type Runners,
  type VerifiedOutcomes,
  verifiedOutcomes,
} from '../../core/engine/evidence.js';
import { describeEvidencePolicy, runnersIn } from '../../core/engine/evidence-policy.js';
import { effectiveChecklist } from '../../core/methodology/definition/checklist.js';
import {
  BASE_SUBJECT,
  candidateSubject,
  RUNNERS_SUBJECT,
  subjectKeys,
  subjectKindOf,
} from '../../core/subject.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { TransactionBuilder } from '../queue/transaction-builder.js';
import { sha256Hex } from '../runtime/identity.js';

export const runnersOf = (view: DecisionView): Runners => runnersIn(view.record(RUNNERS_SUBJECT));

export function candidateOf(view: DecisionView, subject: string): CandidateRecord | null {
  const record = view.record(candidateSubject(subject));
  return record === null ? null : candidateRecord.parse(record.value);
}

/** The version of the base that evidence must name. */
export const baseVersionOf = (view: DecisionView): number => view.record(BASE_SUBJECT)?.seq ?? 0;

/** The checks of an edge; none for a task, if the project is not configured, or if it has no record of the feature. */
export function edgeChecks(view: DecisionView, subject: string): readonly EffectiveCheck[] {
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const { methodology } = view;
  const feature = view.feature(feature_id);
  return methodology === null || feature === null ? [] : effectiveChecklist(methodology, feature, edge);
}

export const deterministicChecks = (view: DecisionView, subject: string): readonly EffectiveCheck[] =>
  edgeChecks(view, subject).filter(({ type }) => type === 'deterministic');

/** Identifies a result that is judged by its evidence. */
export interface JudgedResult {
  readonly subject: string;
  readonly generation: number;
  readonly sha256: string;
}

/** What enrolled runners have signed about the deterministic checks of exactly this result. */
export const verifiedOutcomesOf = (
  view: DecisionView,
  judged: JudgedResult,
  checks: readonly EffectiveCheck[],
): VerifiedOutcomes =>
  verifiedOutcomes(checks, candidateOf(view, judged.subject)?.evidence ?? [], evidenceFacts(view, judged));

/** The facts that evidence of a result must agree with. */
export function evidenceFacts(
  view: DecisionView,
  { subject, generation, sha256 }: JudgedResult,
): EvidenceFacts {
  const proposed = candidateOf(view, subject);
  return {
    generation,
    candidate_sha256: sha256,
    is_proposed: proposed?.generation === generation && proposed.candidate_sha256 === sha256,
    base_version: baseVersionOf(view),
    runners: runnersOf(view),
    checkDigest,
  };
}

function checkDigest(check: EffectiveCheck): string | null {
  const text = checkDigestText(check);
  return text === null ? null : sha256Hex(text);
}

/** How the edge's deterministic checks pass, and what its candidate lacks. Null without such checks, or if completed. */
export function explainEvidence(view: DecisionView, subject: string): Explanation['evidence'] | null {
  const checks = deterministicChecks(view, subject);
  const { generation, phase } = view.peekHead(subject);
  if (checks.length === 0 || phase === 'COMPLETED') return null;
  const status = describeEvidencePolicy(view.policy.evidence, runnersOf(view));
  if (status.policy === 'reported')
    return { ...status, candidate: null, outcomes: [], passed: [], missing: [] };
  const proposed = candidateOf(view, subject);
  const sha256 = proposed?.candidate_sha256 ?? '';
  const judged = { subject, generation, sha256 };
  const { outcomes, runnerOf, notPassedTexts } = verifiedOutcomesOf(view, judged, checks);
  const candidate = proposed === null ? null : { generation: proposed.generation, candidate_sha256: sha256 };
  const missing = [...notPassedTexts].map(([name, says]) => ({ name, says }));
  const passed = [...runnerOf].flatMap(([name, runner_id]) =>
    notPassedTexts.has(name) ? [] : { name, runner_id },
  );
  return { ...status, candidate, outcomes, passed, missing };
}

/** Adds checks of the records that decide about a result under `verified`: if one changes, decide again. */
export function checkEvidenceRecords(transaction: TransactionBuilder, subject: string): void {
  if (transaction.view.policy.evidence !== 'verified' || subjectKindOf(subject) !== 'edge') return;
  for (const record of [candidateSubject(subject), BASE_SUBJECT, RUNNERS_SUBJECT])
    transaction.checkRecord(record);
}
