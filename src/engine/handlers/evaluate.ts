import { sha256Hex } from '../../coordinator/runtime/identity.js';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import { type CheckOutcome, isBlocking, outcomeWithoutCommand } from '../../core/engine/check-outcome.js';
import type { StepResult } from '../../core/engine/run-data.js';
import { shortOutcome } from '../../core/engine/short-outcome.js';
import { DEFAULT_CHECK_LIMITS } from '../checks/execute-check.js';
import { engineError } from '../engine-error.js';
import { judgeChecks } from '../evaluators/judge-checks.js';
import type { StepCall } from '../runs/step-runner.js';
import { edgePlanOf, manifestOf, requiredPart } from './run-state.js';
import type { EngineServices } from './services.js';
import type { SharedOutcomeWaits } from './verified-outcomes.js';

/** The outcome of a deterministic check, from the evidence of runners if the policy demands it, otherwise from a run here. */
export async function runCheckStep(
  services: EngineServices,
  outcomeWaits: SharedOutcomeWaits,
  call: StepCall,
): Promise<StepResult<'run_check'>> {
  const check = await checkOf(services, call);
  if ((await edgePlanOf(services.blobs, call.data)).evidence !== 'verified')
    return toStepResult(services, await runHere(services, call, check));
  const outcomes = await outcomeWaits.outcomes(call.data, call.signal);
  const outcome = outcomes.find(({ name }) => name === check.name);
  if (outcome === undefined) throw engineError('failed', `The evidence has no outcome for ${check.name}.`);
  return toStepResult(services, outcome);
}

/** Runs a check on a temporary copy of the project with the candidate. */
async function runHere(
  { blobs, files, runCheck }: EngineServices,
  call: StepCall,
  check: EffectiveCheck,
): Promise<CheckOutcome> {
  const manifest = await manifestOf(blobs, requiredPart(call.data, 'candidate').manifest);
  const copy = await files.workCopy(manifest);
  try {
    const { outcome, output, report } = await runCheck({
      check,
      copy,
      limits: DEFAULT_CHECK_LIMITS,
      signal: call.signal,
    });
    if (output.byteLength > 0) await blobs.put(output);
    if (report !== null) await blobs.put(report);
    return outcome;
  } finally {
    await copy.remove();
  }
}

/** Lets the configured evaluator judge an agent check. Without an evaluator the check stays pending. */
export async function judgeCheckStep(
  services: EngineServices,
  call: StepCall,
): Promise<StepResult<'judge_check'>> {
  const { blobs, files } = services;
  const check = await checkOf(services, call);
  const plan = await edgePlanOf(blobs, call.data);
  const evaluator = await services.openEvaluator(plan);
  if (evaluator === null) return toStepResult(services, pendingOutcome(check));
  const { manifest: reference, constructed_by } = requiredPart(call.data, 'candidate');
  const manifest = await manifestOf(blobs, reference);
  const copy = await files.workCopy(manifest);
  try {
    const { prompt_tokens_max } = plan.settings.context ?? {};
    const { outcomes, answer } = await judgeChecks(evaluator, {
      checks: [check],
      files: await files.texts(manifest),
      folder: copy.folder,
      constructed_by,
      iteration: call.data.iteration,
      signal: call.signal,
      now: services.now,
      ...(prompt_tokens_max === undefined ? {} : { prompt_tokens_max }),
    });
    if (answer !== null) await blobs.put(answer);
    const [outcome] = outcomes;
    if (outcome === undefined) throw engineError('failed', `The evaluator has no outcome for ${check.name}.`);
    return toStepResult(services, outcome);
  } finally {
    await copy.remove();
  }
}

async function checkOf({ blobs }: EngineServices, { data, check: name }: StepCall): Promise<EffectiveCheck> {
  const plan = await edgePlanOf(blobs, data);
  const check = plan.checks.find((candidate) => candidate.name === name);
  if (check === undefined) throw engineError('failed', `${plan.edge} has no check ${name}.`);
  return check;
}

/**
 * The result of the step. An outcome that is too large is stored as a blob, so that the outcomes of all checks fit into the
 * data that a state passes on.
 */
async function toStepResult(
  { blobs }: EngineServices,
  outcome: CheckOutcome,
): Promise<StepResult<'run_check'>> {
  const blocks = isBlocking(outcome);
  const short = shortOutcome(outcome);
  if (short === null) return { ...outcome, blocks };
  const bytes = Buffer.from(JSON.stringify(outcome));
  await blobs.put(bytes);
  return { ...short, blocks, outcome_sha256: sha256Hex(bytes) };
}

const pendingOutcome = (check: EffectiveCheck): CheckOutcome =>
  outcomeWithoutCommand(check, {
    result: 'pending',
    says: 'No evaluator is configured: set evaluate in engine.yml or in the file of the edge.',
  });
