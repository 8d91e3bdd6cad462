import type { WaitingCandidate } from '../../core/contract/runners.js';
import { hasErrors, isCompleteStatement } from '../../core/engine/evidence.js';
import {
  baseVersionOf,
  candidateOf,
  deterministicChecks,
  evidenceFacts,
} from '../operations/edge-evidence.js';
import type { DecisionView } from '../queue/decision-view.js';

/** The candidates of the claimed edges, sorted by edge. */
export function waitingCandidates(view: DecisionView): WaitingCandidate[] {
  const base_version = baseVersionOf(view);
  const waiting = view.claimedEdges().flatMap(({ subject, generation, phase }) => {
    const candidate = candidateOf(view, subject);
    if (candidate?.generation !== generation || phase === 'COMPLETED') return [];
    const { candidate_sha256, iteration, proposed_at, evidence } = candidate;
    const checks = deterministicChecks(view, subject);
    const facts = evidenceFacts(view, { subject, generation, sha256: candidate_sha256 });
    const evidence_of = evidence
      // Evidence with errors does not count: checks that could not run, for example on an outdated base, may be run again.
      .filter(({ statement }) => isCompleteStatement(statement, checks, facts) && !hasErrors(statement))
      .map(({ statement }) => statement.runner_id);
    return {
      task_id: subject,
      generation,
      candidate_sha256,
      iteration,
      proposed_at,
      base_version,
      checks,
      evidence_of,
    };
  });
  return waiting.sort((a, b) => (a.task_id < b.task_id ? -1 : 1));
}
