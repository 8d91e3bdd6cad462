import type { Explanation } from '../../core/contract/tasks.js';
import type { Paint } from './paint.js';

/**
 * Why work can or cannot be claimed, or what its holder can do. For an edge, also the evidence of its checks.
 */
export function explanationLines(explanation: Explanation, paint: Paint): string[] {
  const { next, evidence } = explanation;
  return [...claimLines(explanation, paint), ...evidenceLines(evidence), next];
}

function claimLines({ task_id, claimable, is_held_by_you, why }: Explanation, paint: Paint): string[] {
  // `rule` says why a further claim would be refused. The holder does not need to know that.
  if (is_held_by_you) return why.map(({ says }) => `${task_id}: ${paint.green(says)}`);
  return [
    `${task_id} ${claimable ? paint.green('can be claimed') : paint.yellow('cannot be claimed')}`,
    ...why.map(({ rule, says }) => `  ${rule}: ${says}`),
  ];
}

function evidenceLines(evidence: Explanation['evidence']): string[] {
  if (evidence === undefined) return [];
  const { policy, says, passed, missing } = evidence;
  return [
    `Evidence is ${policy}: ${says}`,
    ...passed.map(({ name, runner_id }) => `  ${name}: Passed by runner ${runner_id}.`),
    ...missing.map(({ name, says: reason }) => `  ${name}: ${reason}`),
  ];
}
