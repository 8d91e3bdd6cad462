import { dependenciesOf } from './dependency-graph.js';
import type { Plan } from './plan.js';

/** Identifies the accepted result of a subject among its earlier ones. */
export interface ResultVersion {
  readonly generation: number;
  readonly epoch: number;
}

/**
 * Identifies the results that a subject depends on: of its subtasks for a merge, otherwise of its dependencies. The text
 * is equal exactly if the results are. Null without dependencies. The text grows with the number of dependencies, so store
 * its hash.
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
