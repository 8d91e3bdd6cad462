import type { FailingCheck } from '../../core/contract/checks.js';
import type { CheckOutcome } from '../../core/engine/check-outcome.js';
import {
  type EscalationCode,
  failingCheckNames,
  failingChecks,
  judgeIteration,
} from '../../core/engine/judge-iteration.js';
import {
  ENGINE_ERRORS,
  type IterationVerdict,
  type RunData,
  type StepResult,
} from '../../core/engine/run-data.js';
import { truncatedSays } from '../../core/engine/says.js';
import { genCommand, stuckSpawnCommand } from '../../core/methodology/definition/command.js';
import { withResultCounts } from '../../core/methodology/definition/convergence.js';
import { coordinationError, isCoordinationFailure } from '../coordination.js';
import { engineError } from '../engine-error.js';
import { acceptedResultOf } from '../runs/decided-run.js';
import { appendOnce, appendRunEvent, derivedEventId } from '../runs/run-events.js';
import type { StepCall } from '../runs/step-runner.js';
import {
  claimOf,
  edgePlanOf,
  type Findings,
  findingsOf,
  findingsToFix,
  manifestOf,
  outcomesOf,
  putJson,
  requiredPart,
} from './run-state.js';
import type { EngineServices } from './services.js';
import { refusedError, subjectOf, submitCandidate } from './submission.js';
import { submitVerified } from './submit-verified.js';

/** Decides what follows the iteration, and reports the iteration as a step of the methodology. */
export async function judgeIterationStep(
  services: EngineServices,
  call: StepCall,
): Promise<IterationVerdict> {
  const { blobs } = services;
  const { data, journal } = call;
  const plan = await edgePlanOf(blobs, data);
  const manifest = await manifestOf(blobs, requiredPart(data, 'candidate').manifest);
  const outcomes = await outcomesOf(blobs, data);
  const earlier = (await findingsOf(blobs, data))?.failing ?? [];
  const { human = null } = data;
  const isDecided = human !== null && human.decision !== 'NO_ANSWER';
  const verdict = judgeIteration({
    checks: plan.checks,
    outcomes,
    earlier_failing: earlier,
    human,
    authority: services.authorityOf(
      plan,
      manifest.files.map(({ path, base_sha256 }) => ({ path, is_new: base_sha256 === null })),
    ),
    budget: plan.budget,
    spent: { run: journal.spent, ...(await services.spentSoFar(plan.feature_id)) },
    iteration: data.iteration,
    max_iterations: plan.max_iterations,
    stuck_threshold: plan.stuck_threshold,
  });
  const findings: Findings = {
    iteration: data.iteration,
    outcomes: [...outcomes],
    // A constructor remembers nothing, so each iteration repeats a person's comment until a person decides again.
    comment: isDecided ? human.comment || null : ((await findingsToFix(blobs, data))?.comment ?? null),
    failing: [...earlier, failingCheckNames(plan.checks, outcomes)].map((names) => [...names]),
  };
  await reportIteration(services, data, verdict, outcomes);
  return { ...verdict, findings: await putJson(blobs, findings) };
}

async function reportIteration(
  { coordination, agent_id }: EngineServices,
  data: RunData,
  verdict: Omit<IterationVerdict, 'findings'>,
  outcomes: readonly CheckOutcome[],
): Promise<void> {
  // An approved candidate is already the result: its acceptance reports the iteration.
  if (data.human?.decision === 'APPROVED') return;
  const { claim_id, ...author } = claimOf(data);
  // A rejection has ended the claim.
  const handle = data.human?.decision === 'REJECTED' ? author : { ...author, claim_id };
  const event_type = 'iteration_completed';
  await appendOnce(coordination, {
    event_type,
    task_id: subjectOf(data),
    agent_id,
    ...handle,
    event_id: derivedEventId([data.run.run_id, event_type, data.iteration]),
    payload: {
      iteration: data.iteration,
      status:
        verdict.outcome === 'CONVERGED' ? 'converged' : verdict.outcome === 'LOOP' ? 'iterating' : 'blocked',
      delta: verdict.delta,
      evaluators: withResultCounts(outcomes.map(({ name, result }) => ({ name, result }))),
      candidate_sha256: requiredPart(data, 'candidate').sha256,
    },
  });
}

/** Makes the candidate the result of the edge. After an approval it is the result already, and the claim has ended. */
export async function promoteStep(services: EngineServices, call: StepCall): Promise<StepResult<'promote'>> {
  const { data } = call;
  const events = await services.coordination.eventsOf(subjectOf(data));
  const accepted = acceptedResultOf(data.run.run_id, events);
  const resultId = accepted?.payload.work_product_ref ?? (await submittedResult(services, call));
  await endRun(services, call, 'CONVERGED', null, 'All required checks have passed.');
  return { result_id: String(resultId) };
}

async function submittedResult(services: EngineServices, call: StepCall): Promise<string> {
  const reply = await submitVerified(services, call);
  if (reply.accepted) return reply.work_product_ref;
  throw reply.reason === 'ESCALATED' ? engineError('notAuthorised', reply.next) : refusedError(reply);
}

/** Hands the edge to a person, with what was tried. A claim that has not ended is suspended until there is a decision. */
export async function escalateStep(
  services: EngineServices,
  call: StepCall,
): Promise<StepResult<'escalate'>> {
  const { data } = call;
  const { reason, says } = escalationOf(data);
  // This candidate has passed its checks. It is submitted, so that an approval by a person makes it the result.
  if (reason === 'NOT_AUTHORISED') await submitCandidate(services, data);
  // A rejection has ended the claim.
  else if (reason !== 'REJECTED') await suspend(services, data, reason);
  await endRun(services, call, 'ESCALATED', reason, says);
  return { reason };
}

function escalationOf({ run, verdict, failure }: RunData): {
  reason: EscalationCode;
  says: string;
} {
  // A failure comes after the verdict, which may be from an earlier iteration.
  if (failure?.Error === ENGINE_ERRORS.budgetSpent)
    return { reason: 'BUDGET_SPENT', says: failure.Cause ?? '' };
  if (failure?.Error === ENGINE_ERRORS.notAuthorised)
    return { reason: 'NOT_AUTHORISED', says: failure.Cause ?? '' };
  if (failure?.Error === ENGINE_ERRORS.baseDiffers)
    return {
      reason: 'BASE_DIFFERS',
      says: `${failure.Cause ?? ''} Then run: ${genCommand('runs', 'retry', run.run_id)}.`,
    };
  if (failure !== undefined)
    return { reason: 'STEP_FAILED', says: `${failure.Error}: ${failure.Cause ?? ''}` };
  if (verdict?.outcome === 'ESCALATE' && verdict.reason !== null) {
    const advice = verdict.reason === 'STUCK' ? ` ${stuckAdvice(run.feature_id, run.edge)}` : '';
    return { reason: verdict.reason, says: `${verdict.says}${advice}` };
  }
  return { reason: 'MAX_ITERATIONS', says: 'The last allowed iteration did not converge.' };
}

const stuckAdvice = (feature: string, edge: string): string =>
  `To find out why, spawn a feature that the edge waits for: ${stuckSpawnCommand(feature, edge)}`;

/**
 * Suspends the claim, and opens a gate if there is a candidate that a person can judge. If the claim cannot be suspended,
 * it is lost: the edge belongs to another executor, or a person has accepted the candidate meanwhile.
 */
async function suspend(services: EngineServices, data: RunData, reason: EscalationCode): Promise<void> {
  const { generation, claim_id, session_id } = claimOf(data);
  const handle = { task_id: subjectOf(data), session_id, claim_id, expected_generation: generation };
  const failing = LIMIT_REASONS.has(reason) ? await failingOf(services, data) : [];
  const gate =
    data.candidate === undefined || reason === 'BASE_DIFFERS'
      ? {}
      : {
          iteration: data.iteration,
          candidate_sha256: data.candidate.sha256,
          ...(failing.length > 0 ? { failing } : {}),
        };
  const reply = await services.coordination.suspendClaim({ ...handle, ...gate });
  if (isCoordinationFailure(reply)) throw coordinationError(reply);
  if (!reply.success)
    throw engineError('claimLost', `The claim could not be suspended: ${reply.reason}. ${reply.next}`);
}

/** The reasons of runs that end at a limit. Checks of their last candidate may have failed. */
const LIMIT_REASONS: ReadonlySet<EscalationCode> = new Set(['MAX_ITERATIONS', 'STUCK', 'BUDGET_SPENT']);

/** The failing checks of the candidate: of this iteration or, if it has no outcomes, of the findings of the one before. */
async function failingOf({ blobs }: EngineServices, data: RunData): Promise<readonly FailingCheck[]> {
  const { checks } = await edgePlanOf(blobs, data);
  const outcomes = await outcomesOf(blobs, data);
  const candidateOutcomes =
    outcomes.length > 0 ? outcomes : ((await findingsOf(blobs, data))?.outcomes ?? []);
  return failingChecks(checks, candidateOutcomes);
}

async function endRun(
  services: EngineServices,
  { data, journal }: StepCall,
  status: 'CONVERGED' | 'ESCALATED',
  reason: string | null,
  says: string,
): Promise<void> {
  await appendRunEvent(services.coordination, journal.author, 'run_ended', {
    run_id: data.run.run_id,
    status,
    reason,
    says: truncatedSays(says),
    iterations: data.iteration,
    spent: journal.spent,
  });
}
