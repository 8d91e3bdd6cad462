import type { EdgePlan } from './edge-plan.js';
import { checkTimeoutSeconds, stepTimeoutSeconds } from './step-timeouts.js';

export type WorkflowType = 'STANDARD' | 'EXPRESS';

/** An Express execution ends after five minutes, whatever it is doing. */
export const EXPRESS_SECONDS_MAX = 300;

/**
 * The type of a workflow, with the reason as a sentence. Express if only programs check the candidate and all iterations
 * together take less than five minutes in the worst case, not counting retries; otherwise Standard.
 */
export function chooseWorkflowType(plan: EdgePlan): { workflow_type: WorkflowType; reason: string } {
  const { checks } = plan;
  const standardWorkflow = (reason: string) => ({ workflow_type: 'STANDARD', reason }) as const;
  if (checks.length === 0) return standardWorkflow('Standard: the edge has no check.');
  const human = checks.find(({ type }) => type === 'human');
  if (human !== undefined) return standardWorkflow(`Standard: a person decides the check ${human.name}.`);
  const agent = checks.find(({ type }) => type === 'agent');
  if (agent !== undefined) return standardWorkflow(`Standard: an agent judges the check ${agent.name}.`);
  const seconds = worstCaseSeconds(plan);
  const duration = `${plan.max_iterations} ${plan.max_iterations === 1 ? 'iteration' : 'iterations'} may take ${seconds} seconds`;
  if (seconds >= EXPRESS_SECONDS_MAX) {
    return standardWorkflow(
      `Standard: ${duration}, and an Express workflow ends after ${EXPRESS_SECONDS_MAX}.`,
    );
  }
  return {
    workflow_type: 'EXPRESS',
    reason: `Express: all checks are programs, and ${duration}, less than ${EXPRESS_SECONDS_MAX}.`,
  };
}

/** The checks of a tier run at the same time, so the slowest counts. */
function worstCaseSeconds(plan: EdgePlan): number {
  const stepSeconds = (handler: Parameters<typeof stepTimeoutSeconds>[0]) =>
    stepTimeoutSeconds(handler, plan);
  const setupSeconds = stepSeconds('claim_edge') + stepSeconds('load_config') + stepSeconds('load_context');
  const checksSeconds = Math.max(...plan.checks.map((check) => checkTimeoutSeconds(check, plan)));
  const iterationSeconds =
    stepSeconds('construct_candidate') + checksSeconds + stepSeconds('judge_iteration');
  return (
    setupSeconds +
    iterationSeconds * plan.max_iterations +
    Math.max(stepSeconds('promote'), stepSeconds('escalate'))
  );
}
