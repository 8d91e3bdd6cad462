import { parseBody } from '../../coordinator/operations/parse-body.js';
import { isProblem, problem } from '../../coordinator/wire/problem.js';
import { type OperatorVerb, taskIdsBody } from '../../core/contract/tasks.js';
import { bodyMemoryFullResponse } from '../middleware/body.js';
import { bytesResponse, toOkResponse, toResponse, withProblemDocuments } from '../response.js';
import { type ApiCall, type Handlers, jsonHandlers } from '../route.js';

const operatorHandler = (verb: OperatorVerb) => (call: ApiCall) =>
  call.coordinator.decisions.operate(call.projectKey, call.param('subject'), verb, call.body, call.caller);

/** Adds the path's task to the body. A different task in the body is an error. */
function withPathSubject(body: unknown, subject: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const { task_id = subject } = body as { task_id?: unknown };
  if (task_id === subject) return { ...body, task_id };
  return problem('INVALID_REQUEST', 'task_id: expected the task of the path', [
    { path: 'task_id', message: 'expected the task of the path' },
  ]);
}

export const taskHandlers = {
  ...jsonHandlers({
    list_tasks: ({ coordinator, projectKey, query }) => coordinator.queries.listTasks(projectKey, query),

    batch_get_states: async ({ coordinator, projectKey, body }) => {
      const fields = parseBody(taskIdsBody, body);
      if (isProblem(fields)) return fields;
      const states = await coordinator.queries.batchGetStates(projectKey, fields.task_ids);
      return isProblem(states) ? states : { ...withProblemDocuments(states, 'tasks'), next: null };
    },

    get_task_state: (call) =>
      call.coordinator.queries.getTaskState(call.projectKey, call.param('subject'), call.query),

    note: async (call) => {
      const note = withPathSubject(call.body, call.param('subject'));
      return isProblem(note) ? note : call.coordinator.holder.note(call.projectKey, note, call.caller);
    },

    get_claim_history: (call) =>
      call.coordinator.queries.getClaimHistory(call.projectKey, call.param('subject'), call.query),

    list_results: (call) =>
      call.coordinator.queries.listResults(call.projectKey, call.param('subject'), call.query),

    explain: (call) =>
      call.coordinator.queries.explain(call.projectKey, call.param('subject'), call.query.session_id),

    force_release: operatorHandler('force_release'),
    reassign: operatorHandler('reassign'),
    reset: operatorHandler('reset'),
    hold: operatorHandler('hold'),
    unhold: operatorHandler('unhold'),
    adopt: operatorHandler('adopt'),

    put_blob: (call) =>
      call.coordinator.blobs.putBlob(call.tenant, call.param('sha256'), call.body as Buffer),
  }),

  get_result: async (call) => {
    const [subject, resultId] = [call.param('subject'), call.param('result_id')];
    return toOkResponse(
      await call.coordinator.queries.getResult(call.projectKey, subject, resultId, call.query),
    );
  },

  get_blob: async (call) => {
    const size = await call.coordinator.queries.blobSize(call.tenant, call.param('sha256'));
    if (!call.reserveResponse(size)) return bodyMemoryFullResponse();
    const blob = await call.coordinator.queries.getBlob(call.tenant, call.param('sha256'));
    return isProblem(blob) ? toResponse(blob) : bytesResponse(blob);
  },
} satisfies Partial<Handlers>;
