import type { StepResult } from '../../core/engine/run-data.js';
import type { StepCall, StepHandlers } from '../runs/step-runner.js';
import { escalateStep, judgeIterationStep, promoteStep } from './conclude.js';
import { constructCandidate, planDigest } from './construct.js';
import { judgeCheckStep, runCheckStep } from './evaluate.js';
import { requestReview } from './review.js';
import { claimOf, edgePlanOf, putJson } from './run-state.js';
import type { EngineServices } from './services.js';
import { subjectOf } from './submission.js';
import { fetchEdgeEvidence, SharedOutcomeWaits } from './verified-outcomes.js';

/** The handlers of all steps, on these services. The claim was taken before the first step. */
export function createHandlers(services: EngineServices): StepHandlers {
  const outcomeWaits = new SharedOutcomeWaits(services);
  return {
    claim_edge: async ({ data }) => claimOf(data),
    load_config: (call) => loadConfig(services, call),
    load_context: async ({ data }) => {
      const { manifest, ...context } = await services.loadContext(await edgePlanOf(services.blobs, data));
      return { ...context, manifest: await services.blobs.put(manifest) };
    },
    construct_candidate: (call) => constructCandidate(services, call),
    run_check: (call) => runCheckStep(services, outcomeWaits, call),
    judge_check: (call) => judgeCheckStep(services, call),
    request_review: (call) => requestReview(services, call),
    judge_iteration: (call) => judgeIterationStep(services, call),
    promote: (call) => promoteStep(services, call),
    escalate: (call) => escalateStep(services, call),
  };
}

/** Fixes the plan of the edge. Fails before anything is spent if no runner could verify the candidate. */
async function loadConfig(
  services: EngineServices,
  { data: { run } }: StepCall,
): Promise<StepResult<'load_config'>> {
  const plan = await services.readPlan(run.feature_id, run.edge);
  const isVerified = plan.evidence === 'verified' && plan.checks.some(({ type }) => type === 'deterministic');
  if (isVerified) await fetchEdgeEvidence(services, subjectOf({ run }));
  return { plan: await putJson(services.blobs, plan), config_sha256: planDigest(plan) };
}
