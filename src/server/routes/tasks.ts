import { parseBody } from '../../coordinator/operations/parse-body.js';
import { isProblem, problem } from '../../coordinator/wire/problem.js';
import { type OperatorVerb, taskIdsBody } from '../../core/contract/tasks.js';
import { bytesResponse, toListResponse, toOkResponse, toResponse } from '../response.js';
import { type Handlers, pathParam, projectKeyOf, type RequestContext } from '../route.js';

const LAST_PAGE = { next: null };
const subjectOf = (request: Pick<RequestContext, 'params'>): string => pathParam(request, 'subject');

const operator =
  (verb: OperatorVerb) =>
  async ({ context, params, body, caller }: RequestContext) => {
    const subject = subjectOf({ params });
    return toResponse(
      await context.coordinator.operate(projectKeyOf({ params }), subject, verb, body, caller),
    );
  };

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
  list_tasks: async ({ context, params, query }) =>
    toResponse(await context.coordinator.queries.listTasks(projectKeyOf({ params }), query)),

  batch_get_states: async ({ context, params, body }) => {
    const read = parseBody(taskIdsBody, body);
    if (isProblem(read)) return toResponse(read);
    const found = await context.coordinator.queries.batchGetStates(projectKeyOf({ params }), read.task_ids);
    if (isProblem(found)) return toResponse(found);
    return toListResponse({ ...found, ...LAST_PAGE }, 'tasks');
  },

  get_task_state: async ({ context, params }) =>
    toResponse(
      await context.coordinator.queries.getTaskState(projectKeyOf({ params }), subjectOf({ params })),
    ),

  note: async ({ context, params, body, caller }) => {
    const note = withPathSubject(body, subjectOf({ params }));
    return toResponse(
      isProblem(note) ? note : await context.coordinator.note(projectKeyOf({ params }), note, caller),
    );
  },

  get_claim_history: async ({ context, params, query }) => {
    const { queries } = context.coordinator;
    return toResponse(await queries.getClaimHistory(projectKeyOf({ params }), subjectOf({ params }), query));
  },

  list_results: async ({ context, params, query }) => {
    const { queries } = context.coordinator;
    return toResponse(await queries.listResults(projectKeyOf({ params }), subjectOf({ params }), query));
  },

  get_result: async ({ context, params }) => {
    const { queries } = context.coordinator;
    const resultId = pathParam({ params }, 'result_id');
    return toOkResponse(await queries.getResult(projectKeyOf({ params }), subjectOf({ params }), resultId));
  },

  explain: async ({ context, params }) =>
    toResponse(await context.coordinator.queries.explain(projectKeyOf({ params }), subjectOf({ params }))),

  force_release: operator('force_release'),
  reassign: operator('reassign'),
  reset: operator('reset'),
  hold: operator('hold'),
  unhold: operator('unhold'),
  adopt: operator('adopt'),

  put_blob: async ({ context, params, body }) => {
    const { tenant_id } = projectKeyOf({ params });
    return toResponse(
      await context.coordinator.putBlob(tenant_id, pathParam({ params }, 'sha256'), body as Buffer),
    );
  },

  get_blob: async ({ context, params }) => {
    const { tenant_id } = projectKeyOf({ params });
    const found = await context.coordinator.queries.getBlob(tenant_id, pathParam({ params }, 'sha256'));
    return isProblem(found) ? toResponse(found) : bytesResponse(found);
  },
} satisfies Partial<Handlers>;
