import { z } from 'zod';
import type { Explanation } from '../../core/contract/tasks.js';
import { baseFaultOf, type CheckOutcome, checkOutcomeSchema } from '../../core/engine/check-outcome.js';
import type { EdgePlan } from '../../core/engine/edge-plan.js';
import type { RunData } from '../../core/engine/run-data.js';
import { evidenceWaitSeconds } from '../../core/engine/step-timeouts.js';
import { coordinationError, isCoordinationFailure } from '../coordination.js';
import { engineError } from '../engine-error.js';
import { claimOf, edgePlanOf, requiredPart } from './run-state.js';
import type { EngineServices } from './services.js';
import { subjectOf } from './submission.js';

type EdgeEvidence = Pick<NonNullable<Explanation['evidence']>, 'candidate' | 'missing'> & {
  readonly outcomes: readonly CheckOutcome[];
};

/**
 * The outcomes of the candidate's deterministic checks by the evidence of enrolled runners. Proposes the candidate, and
 * waits until valid evidence has an outcome for every check. Rejects with `Engine.NoEvidence` if no runner is enrolled, or
 * if none has run the checks in time. Rejects with `Engine.BaseDiffers` if the runner's base has other files than the base
 * that the candidate was built on.
 */
export async function awaitVerifiedOutcomes(
  services: EngineServices,
  data: RunData,
  stopSignal: AbortSignal,
): Promise<readonly CheckOutcome[]> {
  const plan = await edgePlanOf(services.blobs, data);
  const seconds = evidenceWaitSeconds(plan);
  const deadline = AbortSignal.timeout(seconds * 1000);
  const signal = AbortSignal.any([stopSignal, deadline]);
  let isFirstLook = true;
  for await (const _ of services.coordination.evidenceChanges(signal)) {
    const outcomes = await currentOutcomes(services, data, plan);
    const fault = outcomes === null ? null : baseFaultOf(outcomes);
    if (fault === null && outcomes !== null) return outcomes;
    if (fault !== null && !isFirstLook) throw engineError('baseDiffers', fault);
    // The fault may be in older evidence, for example of the run that this one retries. By now the bases may be the same.
    if (fault !== null) await propose(services, data);
    isFirstLook = false;
  }
  stopSignal.throwIfAborted();
  throw engineError(
    'noEvidence',
    `No runner has run the checks of this candidate within ${seconds} s. See gen runner list and gen runner candidates.`,
  );
}

/** Shares one wait between the checks of a candidate, which run at the same time. */
export class SharedOutcomeWaits {
  private readonly waits = new Map<string, Promise<readonly CheckOutcome[]>>();

  constructor(private readonly services: EngineServices) {}

  outcomes(data: RunData, signal: AbortSignal): Promise<readonly CheckOutcome[]> {
    const key = `${claimOf(data).generation} ${requiredPart(data, 'candidate').sha256}`;
    const sharedWait = this.waits.get(key);
    if (sharedWait !== undefined) return sharedWait;
    const wait = awaitVerifiedOutcomes(this.services, data, signal).finally(() => this.waits.delete(key));
    this.waits.set(key, wait);
    return wait;
  }
}

/** The outcomes by the evidence so far; null if a runner still has to run a check. Proposes the candidate if necessary. */
async function currentOutcomes(
  services: EngineServices,
  data: RunData,
  plan: EdgePlan,
): Promise<readonly CheckOutcome[] | null> {
  const { candidate, outcomes, missing } = await fetchEdgeEvidence(services, subjectOf(data));
  const { generation } = claimOf(data);
  const { sha256 } = requiredPart(data, 'candidate');
  const isProposed = candidate?.generation === generation && candidate.candidate_sha256 === sha256;
  if (!isProposed) {
    await propose(services, data);
    return null;
  }
  const names = plan.checks.filter(({ type }) => type === 'deterministic').map(({ name }) => name);
  const unknownName = names.find((name) => ![...outcomes, ...missing].some((check) => check.name === name));
  if (unknownName !== undefined)
    throw engineError(
      'configChanged',
      `The coordinator's configuration has no check ${unknownName}. Send the current configuration first: gen init`,
    );
  return names.every((name) => outcomes.some((outcome) => outcome.name === name)) ? outcomes : null;
}

/** The evidence that counts for the edge now. Rejects if waiting cannot help, for example if no runner is enrolled. */
export async function fetchEdgeEvidence(
  { coordination }: Pick<EngineServices, 'coordination'>,
  subject: string,
): Promise<EdgeEvidence> {
  const reply = await coordination.explain(subject);
  if (isCoordinationFailure(reply)) throw coordinationError(reply);
  const { evidence } = reply;
  if (evidence === undefined || evidence.policy !== 'verified')
    throw engineError(
      'configChanged',
      `The checks of ${subject} or the policy evidence have changed since the run began. Start a new run: gen iterate ${subject}`,
    );
  if (evidence.is_blocked) throw engineError('noEvidence', evidence.says);
  const { candidate, missing, outcomes } = evidence;
  return { candidate, missing, outcomes: z.array(checkOutcomeSchema).parse(outcomes) };
}

/** Proposes the candidate. If it was proposed before, it keeps its evidence, unless a runner's base had other files. */
async function propose({ coordination }: EngineServices, data: RunData): Promise<void> {
  const { generation, claim_id, session_id } = claimOf(data);
  const reply = await coordination.proposeCandidate({
    task_id: subjectOf(data),
    session_id,
    claim_id,
    expected_generation: generation,
    candidate_sha256: requiredPart(data, 'candidate').sha256,
    iteration: data.iteration,
  });
  if (isCoordinationFailure(reply)) throw coordinationError(reply);
  if (!reply.success)
    throw engineError('claimLost', `The candidate was not proposed: ${reply.reason}. ${reply.next}`);
}
