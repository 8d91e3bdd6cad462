import { dependenciesOf } from './dependency-graph.js';
import type { Plan } from './plan.js';

/** The result of a subject that currently counts. */
export interface ResultVersion {
  readonly generation: number;
  readonly epoch: number;
}

/**
 * Identifies the results that a subject depends on: of its subtasks for a merge, otherwise of its dependencies. The text
 * is equal exactly if the results are. Null if there are none. Grows with the number of dependencies; hash it before
 * storing.
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
