import { z } from 'zod';
import { parseBody } from '../../coordinator/operations/parse-body.js';
import * as wire from '../../coordinator/wire/index.js';
import { isProblem, problem } from '../../coordinator/wire/problem.js';
import { READINESS } from '../../core/views/index.js';
import { latestQuery, nextPage, pageQuery } from '../page-query.js';
import { bytesResponse, toListResponse, toOkResponse, toResponse } from '../response.js';
import {
  defineRoute,
  PROJECT_PATH,
  pathParam,
  projectKeyOf,
  type RequestContext,
  type Route,
} from '../route.js';
import { count } from '../schemas/common.js';
import { problemSchema } from '../schemas/problem.js';
import { explanation, lineage, noteResult, operatorResult, taskResult, taskState } from '../schemas/work.js';

const TASK_PATH = `${PROJECT_PATH}/tasks/{subject}`;
const TASKS_MAX = 1000;
const LAST_PAGE = { next: null };
const subjectOf = (request: Pick<RequestContext, 'params'>): string => pathParam(request, 'subject');

const taskQuery = z.strictObject({
  phase: z.enum(['OPEN', 'COMPLETED']).exactOptional(),
  readiness: z.enum(READINESS).exactOptional(),
  track: z.string().max(100).exactOptional(),
  after: z.string().max(200).exactOptional(),
  limit: z.coerce.number().int().min(1).max(TASKS_MAX).exactOptional(),
});
const taskIds = z.strictObject({ task_ids: z.array(z.string().max(200)).max(TASKS_MAX) });

const operatorRoute = (verb: wire.OperatorVerb, summary: string): Route =>
  defineRoute({
    id: verb,
    method: 'POST',
    path: `${TASK_PATH}/${verb}`,
    // Reviewers, too, may decide which result counts.
    action: verb === 'adopt' ? 'review' : 'operate',
    summary,
    body: { kind: 'json', schema: wire.operatorBodies[verb] },
    reply: operatorResult,
    isRefusable: true,
    run: async ({ context, params, body, caller }: RequestContext) =>
      toResponse(
        await context.coordinator.operate(
          projectKeyOf({ params }),
          subjectOf({ params }),
          verb,
          body,
          caller,
        ),
      ),
  });

/** Adds the path's task to the body. A different task in the body is an error. */
function withPathSubject(body: unknown, subject: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const { task_id = subject } = body as { task_id?: unknown };
  if (task_id === subject) return { ...body, task_id };
  return problem('INVALID_REQUEST', 'task_id: expected the task of the path', [
    { path: 'task_id', message: 'expected the task of the path' },
  ]);
}

export const taskRoutes: readonly Route[] = [
  defineRoute({
    id: 'list_tasks',
    method: 'GET',
    path: `${PROJECT_PATH}/tasks`,
    action: 'read',
    summary: 'The tasks of the plan and how each stands, a page at a time',
    query: taskQuery,
    reply: z.object({ tasks: z.array(taskState), next: z.string().nullable(), position: count }),
    run: async ({ context, params, query }) =>
      toResponse(await context.coordinator.queries.listTasks(projectKeyOf({ params }), query)),
  }),
  defineRoute({
    id: 'batch_get_states',
    method: 'POST',
    path: `${PROJECT_PATH}/tasks/batch_get`,
    action: 'read',
    summary: 'How each of these tasks stands',
    body: { kind: 'json', schema: taskIds },
    reply: z.object({ tasks: z.array(z.union([taskState, problemSchema])), next: z.null() }),
    run: async ({ context, params, body }: RequestContext) => {
      const read = parseBody(taskIds, body);
      if (isProblem(read)) return toResponse(read);
      const found = await context.coordinator.queries.batchGetStates(projectKeyOf({ params }), read.task_ids);
      if (isProblem(found)) return toResponse(found);
      return toListResponse({ ...found, ...LAST_PAGE }, 'tasks');
    },
  }),
  defineRoute({
    id: 'get_task_state',
    method: 'GET',
    path: TASK_PATH,
    action: 'read',
    summary: 'How a task stands',
    reply: taskState,
    run: async ({ context, params }: RequestContext) =>
      toResponse(
        await context.coordinator.queries.getTaskState(projectKeyOf({ params }), subjectOf({ params })),
      ),
  }),
  defineRoute({
    id: 'note',
    method: 'POST',
    path: `${TASK_PATH}/notes`,
    action: 'work',
    summary: 'Leave a remark for whoever comes after',
    body: { kind: 'json', schema: wire.noteBody.partial({ task_id: true }) },
    reply: noteResult,
    isRefusable: true,
    run: async ({ context, params, body, caller }: RequestContext) => {
      const note = withPathSubject(body, subjectOf({ params }));
      return toResponse(
        isProblem(note) ? note : await context.coordinator.note(projectKeyOf({ params }), note, caller),
      );
    },
  }),
  defineRoute({
    id: 'get_claim_history',
    method: 'GET',
    path: `${TASK_PATH}/history`,
    action: 'read',
    summary: 'The generations of a task and the results that were refused; of each list the latest',
    query: latestQuery,
    reply: lineage,
    run: async ({ context, params, query }) => {
      const { queries } = context.coordinator;
      return toResponse(
        await queries.getClaimHistory(projectKeyOf({ params }), subjectOf({ params }), query),
      );
    },
  }),
  defineRoute({
    id: 'list_results',
    method: 'GET',
    path: `${TASK_PATH}/results`,
    action: 'read',
    summary: 'Every result of a task, accepted, refused and parked, a page at a time',
    query: pageQuery,
    reply: z.object({ results: z.array(taskResult), next: nextPage }),
    run: async ({ context, params, query }) => {
      const { queries } = context.coordinator;
      return toResponse(await queries.listResults(projectKeyOf({ params }), subjectOf({ params }), query));
    },
  }),
  defineRoute({
    id: 'get_result',
    method: 'GET',
    path: `${TASK_PATH}/results/{result_id}`,
    action: 'read',
    summary: 'One result with its data',
    reply: taskResult,
    run: async ({ context, params }: RequestContext) => {
      const resultId = pathParam({ params }, 'result_id');
      return toOkResponse(
        await context.coordinator.queries.getResult(
          projectKeyOf({ params }),
          subjectOf({ params }),
          resultId,
        ),
      );
    },
  }),
  defineRoute({
    id: 'explain',
    method: 'GET',
    path: `${TASK_PATH}/explain`,
    action: 'read',
    summary: 'Why a task can or cannot be claimed now',
    reply: explanation,
    run: async ({ context, params }: RequestContext) =>
      toResponse(await context.coordinator.queries.explain(projectKeyOf({ params }), subjectOf({ params }))),
  }),
  operatorRoute('force_release', 'Take a claim away from whoever holds it'),
  operatorRoute('reassign', 'Give the work to another agent'),
  operatorRoute('reset', 'Open completed work again'),
  operatorRoute('hold', 'Let nobody claim a task'),
  operatorRoute('unhold', 'Lift a hold'),
  operatorRoute('adopt', 'Make a refused and parked result the accepted one'),
  defineRoute({
    id: 'put_blob',
    method: 'PUT',
    path: `${PROJECT_PATH}/blobs/{sha256}`,
    action: 'work',
    summary: 'Store the bytes of a large result before it is submitted',
    body: { kind: 'bytes' },
    reply: z.object({ sha256: z.string(), size_bytes: count }),
    run: async ({ context, params, body }: RequestContext) => {
      const { tenant_id } = projectKeyOf({ params });
      return toResponse(
        await context.coordinator.putBlob(tenant_id, pathParam({ params }, 'sha256'), body as Buffer),
      );
    },
  }),
  defineRoute({
    id: 'get_blob',
    method: 'GET',
    path: `${PROJECT_PATH}/blobs/{sha256}`,
    action: 'read',
    summary: 'The bytes of a large result',
    reply: { content_type: 'application/octet-stream' },
    run: async ({ context, params }: RequestContext) => {
      const { tenant_id } = projectKeyOf({ params });
      const found = await context.coordinator.queries.getBlob(tenant_id, pathParam({ params }, 'sha256'));
      return isProblem(found) ? toResponse(found) : bytesResponse(found);
    },
  }),
];
