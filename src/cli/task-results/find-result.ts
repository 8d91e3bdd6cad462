import type { Genesis } from '../../client/index.js';
import type { AtQuery } from '../../core/contract/schema.js';
import type { TaskResult } from '../../core/contract/tasks.js';
import { resultOfGeneration } from '../../core/views/index.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { failureWithCode } from '../exit.js';
import { joinFirst } from '../output/text.js';
import { unwrapReply } from '../replies.js';

/** Maximum number of results that are read, to bound the memory. Later results are not listed and not found. */
const RESULTS_MAX = 10_000;
const NAMES_MAX = 5;

/** All results of a task: accepted, refused and parked, oldest first. */
export async function allResults(
  genesis: Genesis,
  taskId: string,
  options: AtQuery = {},
): Promise<TaskResult[]> {
  const results: TaskResult[] = [];
  let after: string | undefined;
  do {
    const page = unwrapReply(await genesis.results(taskId, { ...options, ...withoutUndefined({ after }) }));
    results.push(...page.results);
    after = page.next ?? undefined;
  } while (after !== undefined && results.length < RESULTS_MAX);
  return results;
}

/** Parked results that were not adopted, oldest first. */
export const adoptableResults = (results: readonly TaskResult[]): TaskResult[] => {
  const acceptedIds = new Set(results.filter(({ accepted }) => accepted).map(({ id }) => id));
  return results.filter(({ id, parked }) => parked && !acceptedIds.has(id));
};

export function requireGeneration(results: readonly TaskResult[], generation: number): TaskResult {
  const result = resultOfGeneration(results, generation);
  if (result !== undefined) return result;
  throw failureWithCode(
    'NOT_FOUND',
    `There is no result of generation ${generation}. ${resultsText(results)}`,
  );
}

export function resultWithId(results: readonly TaskResult[], id: string): TaskResult {
  const result = results.findLast((each) => each.id === id);
  if (result !== undefined) return result;
  throw failureWithCode('NOT_FOUND', `There is no result ${JSON.stringify(id)}. ${resultsText(results)}`);
}

/** Lists the results of a task, as text for a refusal. */
export function resultsText(results: readonly TaskResult[]): string {
  if (results.length === 0) return 'The task has no results.';
  const names = results.toReversed().map((result) => `${result.id} (${describeResult(result)})`);
  const limitText = results.length < RESULTS_MAX ? '' : ` Only the first ${RESULTS_MAX} results are listed.`;
  return `Its results, latest first: ${joinFirst(names, NAMES_MAX)}.${limitText}`;
}

export function describeResult({ generation, accepted, parked, rejection_reason }: TaskResult): string {
  const outcome = accepted ? 'accepted' : `refused with ${rejection_reason}${parked ? ', parked' : ''}`;
  return `generation ${generation}, ${outcome}`;
}
