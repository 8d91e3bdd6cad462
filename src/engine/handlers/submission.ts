import type { SubmissionResult } from '../../core/contract/claim-replies.js';
import type { CheckOutcome } from '../../core/engine/check-outcome.js';
import type { RunData } from '../../core/engine/run-data.js';
import { withResultCounts } from '../../core/methodology/definition/convergence.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { coordinationError, isCoordinationFailure } from '../coordination.js';
import { type EngineError, engineError } from '../engine-error.js';
import { claimOf, manifestOf, outcomesOf, requiredPart } from './run-state.js';
import type { EngineServices } from './services.js';

export const subjectOf = ({ run }: Pick<RunData, 'run'>): string => edgeSubject(run.feature_id, run.edge);

/** Submits the candidate with the outcomes of its checks. The same candidate submitted again has one effect. */
export async function submitCandidate(
  { coordination, blobs }: EngineServices,
  data: RunData,
): Promise<SubmissionResult> {
  const candidate = requiredPart(data, 'candidate');
  const { generation, claim_id, session_id } = claimOf(data);
  const reply = await coordination.submitResult({
    task_id: subjectOf(data),
    session_id,
    claim_id,
    generation,
    result_data: await manifestOf(blobs, candidate.manifest),
    iteration: data.iteration,
    evaluators: withResultCounts(reportsOf(await outcomesOf(blobs, data))),
    metadata: { run_id: data.run.run_id, cost: candidate.cost },
    ...(data.context?.context_hash ? { context_hash: data.context.context_hash } : {}),
  });
  if (isCoordinationFailure(reply)) throw coordinationError(reply);
  return reply;
}

/**
 * All reports together may have 64 KiB, so each is shortened when there are many checks. The findings contain the full
 * text.
 */
function reportsOf(outcomes: readonly CheckOutcome[]) {
  const saysCharsMax = Math.max(100, Math.floor(20_000 / outcomes.length) - 300);
  return outcomes.map(({ name, type, result, required: isRequired, says }) => ({
    ...{ name, type, result, required: isRequired },
    says: says.slice(0, saysCharsMax),
  }));
}

const CLAIM_LOST_REASONS: ReadonlySet<string> = new Set([
  'NO_CLAIM',
  'STALE_GENERATION',
  'FUTURE_GENERATION',
  'SESSION_MISMATCH',
  'LEASE_EXPIRED',
]);

/** The error for a refused candidate. The machine escalates it to a person, unless the claim is lost. */
export function refusedError(reply: Extract<SubmissionResult, { accepted: false }>): EngineError {
  const failing = 'failing' in reply ? (reply.failing ?? []) : [];
  const reasons = failing.map(({ name, says }) => ` ${name}: ${says}`).join('');
  const kind = CLAIM_LOST_REASONS.has(reply.reason) ? 'claimLost' : 'failed';
  return engineError(kind, `The candidate was refused: ${reply.reason}. ${reply.next}${reasons}`);
}
