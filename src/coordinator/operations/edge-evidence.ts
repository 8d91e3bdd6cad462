import type { EffectiveCheck, Explanation } from '../../core/contract/tasks.js';
import { commandDigestText, isCommandRefusal, parseCommand } from '../../core/engine/command-line.js';
import {
  type CandidateRecord,
  candidateRecord,
  evidenceStanding,
  type Runners,
  runnersRecord,
  type VerifiedReports,
  verifiedReports,
} from '../../core/engine/evidence.js';
import { effectiveChecklist } from '../../core/methodology/definition/checklist.js';
import type { RecordHead } from '../../core/record.js';
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

export const runnersIn = (record: RecordHead | null): Runners =>
  record === null ? {} : runnersRecord.parse(record.value).runners;

export const runnersOf = (view: DecisionView): Runners => runnersIn(view.record(RUNNERS_SUBJECT));

export function candidateOf(view: DecisionView, subject: string): CandidateRecord | null {
  const record = view.record(candidateSubject(subject));
  return record === null ? null : candidateRecord.parse(record.value);
}

/** The version of the base that evidence must name. */
export const baseVersionOf = (view: DecisionView): number => view.record(BASE_SUBJECT)?.seq ?? 0;

/** The deterministic checks of an edge; none if the project is not configured. */
export function deterministicChecks(view: DecisionView, subject: string): readonly EffectiveCheck[] {
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const { methodology } = view;
  const vector = view.feature(feature_id);
  if (methodology === null || vector === null) return [];
  return effectiveChecklist(methodology, vector, edge).filter(({ type }) => type === 'deterministic');
}

/** A result whose evidence is asked for. */
export interface JudgedResult {
  readonly subject: string;
  readonly generation: number;
  readonly sha256: string;
}

/** What enrolled runners have said of the deterministic checks of exactly this result. */
export const verifiedReportsOf = (
  view: DecisionView,
  { subject, generation, sha256 }: JudgedResult,
  checks: readonly EffectiveCheck[],
): VerifiedReports =>
  verifiedReports(checks, candidateOf(view, subject)?.evidence ?? [], {
    generation,
    candidate_sha256: sha256,
    base_version: baseVersionOf(view),
    runners: runnersOf(view),
    commandDigest,
  });

function commandDigest({ command, shell, skipped }: EffectiveCheck): string | null {
  if (skipped !== null) return null;
  const parsed = parseCommand(command ?? '', shell === true);
  return isCommandRefusal(parsed) ? null : sha256Hex(commandDigestText(parsed));
}

/** What counts as a pass of an edge's deterministic checks, and what its last candidate lacks. Null if it has no checks. */
export function edgeEvidence(view: DecisionView, subject: string): Explanation['evidence'] | null {
  const checks = deterministicChecks(view, subject);
  const { generation, phase } = view.peekHead(subject);
  if (checks.length === 0 || phase === 'COMPLETED') return null;
  const standing = evidenceStanding(view.policy.evidence, runnersOf(view));
  if (standing.policy === 'reported') return { ...standing, missing: [] };
  const sha256 = candidateOf(view, subject)?.candidate_sha256 ?? '';
  const { reasons } = verifiedReportsOf(view, { subject, generation, sha256 }, checks);
  return { ...standing, missing: [...reasons].map(([name, says]) => ({ name, says })) };
}

/** Under `verified`, a decision about a result holds only while these records stay as they are. */
export function checkEvidenceRecords(transaction: TransactionBuilder, subject: string): void {
  if (transaction.view.policy.evidence !== 'verified' || subjectKindOf(subject) !== 'edge') return;
  for (const record of [candidateSubject(subject), BASE_SUBJECT, RUNNERS_SUBJECT])
    transaction.checkRecord(record);
}
