import type { ApiClient } from '../../client/api-client.js';
import { type ApiProblem, isProblem } from '../../client/replies.js';
import type { TaskResult } from '../../core/contract/tasks.js';
import { resultOfGeneration } from '../../core/views/index.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { ToolContent } from './tool-content.js';

/** Maximum size of a result in a reply, so that it does not fill the context of the model. */
const RESULT_CHARS_MAX = 32 * 1024;

const PAGES_MAX = 10;

interface WantedResult {
  readonly task_id: string;
  readonly generation?: number | undefined;
  readonly result_id?: string | undefined;
}

/** Reads the accepted result of a task, the result of a generation, or a parked result by its id. */
export async function readResult(client: ApiClient, wanted: WantedResult): Promise<TaskResult | ApiProblem> {
  const resultId = await resultIdOf(client, wanted);
  return typeof resultId === 'string' ? client.result(wanted.task_id, resultId) : resultId;
}

async function resultIdOf(
  client: ApiClient,
  { task_id, generation, result_id }: WantedResult,
): Promise<string | ApiProblem> {
  if (result_id !== undefined) return result_id;
  if (generation === undefined) {
    const state = await client.task(task_id);
    if (isProblem(state)) return state;
    return state.result?.result_id ?? noResult(`${task_id} has no accepted result yet.`);
  }
  const listed = await resultsOf(client, task_id, generation);
  if (isProblem(listed)) return listed;
  const result = resultOfGeneration(listed, generation);
  return result?.id ?? noResult(`Generation ${generation} of ${task_id} has submitted no result.`);
}

/** The results of a generation. Reads a bounded number of pages. A result on a later page can be read by its id. */
async function resultsOf(
  client: ApiClient,
  taskId: string,
  generation: number,
): Promise<TaskResult[] | ApiProblem> {
  const results: TaskResult[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const listed = await client.results(taskId, withoutUndefined({ after }));
    if (isProblem(listed)) return listed;
    results.push(...listed.results.filter((result) => result.generation === generation));
    if (listed.next === null) break;
    after = listed.next;
  }
  return results;
}

const noResult = (detail: string): ApiProblem => ({
  code: 'NOT_FOUND',
  status: 404,
  detail: `${detail} Call status with task_id to see the state of the task.`,
});

export function renderResult(result: TaskResult): ToolContent {
  const { task_id, generation, agent_id, accepted, rejection_reason, work_product_ref, blob_sha256 } = result;
  const text = JSON.stringify(result.result_data ?? null);
  const fields = { task_id, generation, agent_id, accepted, rejection_reason, work_product_ref };
  // The server leaves out the content of a large blob.
  const isContentOmitted = result.result_data === null && blob_sha256 !== null;
  if (text.length <= RESULT_CHARS_MAX && !isContentOmitted)
    return { ...fields, result_data: result.result_data };
  return {
    ...fields,
    ...(isContentOmitted ? {} : { beginning: text.slice(0, RESULT_CHARS_MAX) }),
    next: `The result is too large for a reply. Write it to a file: gen task result ${task_id} --output FILE`,
  };
}
