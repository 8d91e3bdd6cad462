import { dependenciesOf } from './dependency-graph.js';
import type { Plan } from './plan.js';

/** Distinguishes the accepted result of a subject from its earlier ones. */
export interface ResultVersion {
  readonly generation: number;
  readonly epoch: number;
}

/**
 * A text that identifies the results a subject depends on: those of its subtasks for a merge, otherwise those of its
 * dependencies. Two such texts are equal exactly if the results are the same. Null without dependencies. The text grows
 * with the number of dependencies, so callers store the digest of a long one.
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
