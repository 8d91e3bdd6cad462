import { dependenciesOf } from './dependency-graph.js';
import type { Plan } from './plan.js';

/** Which result of a subject counts at the moment. */
export interface ResultVersion {
  readonly generation: number;
  readonly epoch: number;
}

/**
 * The results a subject builds on, as text that is equal exactly when they are: for a merge its subtasks',
 * else its dependencies'. Null when it builds on nothing. As long as there are dependencies; hash it to store it.
 */
export function inputsOf(
  plan: Plan,
  subject: string,
  resultOf: (id: string) => ResultVersion | null,
): string | null {
  const ids = [...dependenciesOf(plan, subject)].sort();
  if (ids.length === 0) return null;
  return ids.map((id) => `${id}@${versionText(resultOf(id))}`).join(',');
}

const versionText = (result: ResultVersion | null): string =>
  result === null ? 'none' : `${result.generation}.${result.epoch}`;
