import type { StepHandlers } from '../runs/step-runner.js';
import { escalateStep, judgeIterationStep, promoteStep } from './conclude.js';
import { constructCandidate, planDigest } from './construct.js';
import { judgeCheckStep, runCheckStep } from './evaluate.js';
import { requestReview } from './review.js';
import { claimOf, planOf, putJson } from './run-state.js';
import type { EngineServices } from './services.js';

/** The handlers of all steps, on these services. The claim was taken before the first step. */
export const createHandlers = (services: EngineServices): StepHandlers => ({
  claim_edge: async ({ data }) => claimOf(data),
  load_config: async ({ data: { run } }) => {
    const plan = await services.readPlan(run.feature_id, run.edge);
    return { plan: await putJson(services.blobs, plan), config_sha256: planDigest(plan) };
  },
  load_context: async ({ data }) => {
    const { manifest, ...context } = await services.loadContext(await planOf(services.blobs, data));
    return { ...context, manifest: await services.blobs.put(manifest) };
  },
  construct_candidate: (call) => constructCandidate(services, call),
  run_check: (call) => runCheckStep(services, call),
  judge_check: (call) => judgeCheckStep(services, call),
  request_review: (call) => requestReview(services, call),
  judge_iteration: (call) => judgeIterationStep(services, call),
  promote: (call) => promoteStep(services, call),
  escalate: (call) => escalateStep(services, call),
});
