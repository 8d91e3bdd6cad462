import { z } from 'zod';
import { readBody } from '../../coordinator/operations/read.js';
import { isProblem, problem } from '../../coordinator/problem.js';
import * as wire from '../../coordinator/wire.js';
import { READINESS } from '../../core/views/index.js';
import { answer, bytes, listAnswer, shown } from '../answer.js';
import { latestQuery, nextPage, pageQuery } from '../page-query.js';
import { type Ask, PROJECT, param, type Route, route, scopeOf } from '../route.js';
import { count } from '../schemas/describe.js';
import { problemDocument } from '../schemas/problem.js';
import { explanation, lineage, noteResult, operatorResult, taskResult, taskState } from '../schemas/work.js';

const TASK = `${PROJECT}/tasks/{subject}`;
const TASKS_MAX = 1000;
const NO_MORE = { next: null };
const subjectOf = (ask: Pick<Ask, 'params'>): string => param(ask, 'subject');

const taskQuery = z.strictObject({
  phase: z.enum(['OPEN', 'COMPLETED']).exactOptional(),
  readiness: z.enum(READINESS).exactOptional(),
  track: z.string().max(100).exactOptional(),
  after: z.string().max(200).exactOptional(),
  limit: z.coerce.number().int().min(1).max(TASKS_MAX).exactOptional(),
});
const taskIds = z.strictObject({ task_ids: z.array(z.string().max(200)).max(TASKS_MAX) });

const operatorRoute = (verb: wire.OperatorVerb, summary: string): Route =>
  route({
    id: verb,
    method: 'POST',
    path: `${TASK}/${verb}`,
    // Which result stands is a reviewer's word too.
    action: verb === 'adopt' ? 'review' : 'operate',
    summary,
    body: { kind: 'json', schema: wire.operatorBodies[verb] },
    reply: operatorResult,
    decides: true,
    run: async ({ house, params, body, caller }: Ask) =>
      answer(await house.coordinator.operate(scopeOf({ params }), subjectOf({ params }), verb, body, caller)),
  });

/** The path says which task it is about. A body that says another is a mistake. */
function aboutSubject(body: unknown, subject: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const { task_id = subject } = body as { task_id?: unknown };
  if (task_id === subject) return { ...body, task_id };
  return problem('INVALID_REQUEST', 'task_id: expected the task of the path', [
    { path: 'task_id', message: 'expected the task of the path' },
  ]);
}

export const taskRoutes: readonly Route[] = [
  route({
    id: 'list_tasks',
    method: 'GET',
    path: `${PROJECT}/tasks`,
    action: 'read',
    summary: 'The tasks of the plan and how each stands, a page at a time',
    query: taskQuery,
    reply: z.object({ tasks: z.array(taskState), next: z.string().nullable(), position: count }),
    run: async ({ house, params, query }) =>
      answer(await house.coordinator.queries.listTasks(scopeOf({ params }), query)),
  }),
  route({
    id: 'batch_get_states',
    method: 'POST',
    path: `${PROJECT}/tasks/batch_get`,
    action: 'read',
    summary: 'How each of these tasks stands',
    body: { kind: 'json', schema: taskIds },
    reply: z.object({ tasks: z.array(z.union([taskState, problemDocument])), next: z.null() }),
    run: async ({ house, params, body }: Ask) => {
      const read = readBody(taskIds, body);
      if (isProblem(read)) return answer(read);
      const found = await house.coordinator.queries.batchGetStates(scopeOf({ params }), read.task_ids);
      if (isProblem(found)) return answer(found);
      return listAnswer({ ...found, ...NO_MORE }, 'tasks');
    },
  }),
  route({
    id: 'get_task_state',
    method: 'GET',
    path: TASK,
    action: 'read',
    summary: 'How a task stands',
    reply: taskState,
    run: async ({ house, params }: Ask) =>
      answer(await house.coordinator.queries.getTaskState(scopeOf({ params }), subjectOf({ params }))),
  }),
  route({
    id: 'note',
    method: 'POST',
    path: `${TASK}/notes`,
    action: 'work',
    summary: 'Leave a remark for whoever comes after',
    body: { kind: 'json', schema: wire.noteBody.partial({ task_id: true }) },
    reply: noteResult,
    decides: true,
    run: async ({ house, params, body, caller }: Ask) => {
      const note = aboutSubject(body, subjectOf({ params }));
      return answer(isProblem(note) ? note : await house.coordinator.note(scopeOf({ params }), note, caller));
    },
  }),
  route({
    id: 'get_claim_history',
    method: 'GET',
    path: `${TASK}/history`,
    action: 'read',
    summary: 'The generations of a task and the results that were refused; of each list the latest',
    query: latestQuery,
    reply: lineage,
    run: async ({ house, params, query }) => {
      const { queries } = house.coordinator;
      return answer(await queries.getClaimHistory(scopeOf({ params }), subjectOf({ params }), query));
    },
  }),
  route({
    id: 'list_results',
    method: 'GET',
    path: `${TASK}/results`,
    action: 'read',
    summary: 'Every result of a task, accepted, refused and parked, a page at a time',
    query: pageQuery,
    reply: z.object({ results: z.array(taskResult), next: nextPage }),
    run: async ({ house, params, query }) => {
      const { queries } = house.coordinator;
      return answer(await queries.listResults(scopeOf({ params }), subjectOf({ params }), query));
    },
  }),
  route({
    id: 'get_result',
    method: 'GET',
    path: `${TASK}/results/{result_id}`,
    action: 'read',
    summary: 'One result with its data',
    reply: taskResult,
    run: async ({ house, params }: Ask) => {
      const result_id = param({ params }, 'result_id');
      return shown(
        await house.coordinator.queries.getResult(scopeOf({ params }), subjectOf({ params }), result_id),
      );
    },
  }),
  route({
    id: 'explain',
    method: 'GET',
    path: `${TASK}/explain`,
    action: 'read',
    summary: 'Why a task can or cannot be claimed now',
    reply: explanation,
    run: async ({ house, params }: Ask) =>
      answer(await house.coordinator.queries.explain(scopeOf({ params }), subjectOf({ params }))),
  }),
  operatorRoute('force_release', 'Take a claim away from whoever holds it'),
  operatorRoute('reassign', 'Give the work to another agent'),
  operatorRoute('reset', 'Open completed work again'),
  operatorRoute('hold', 'Let nobody claim a task'),
  operatorRoute('unhold', 'Lift a hold'),
  operatorRoute('adopt', 'Make a refused and parked result the accepted one'),
  route({
    id: 'put_blob',
    method: 'PUT',
    path: `${PROJECT}/blobs/{sha256}`,
    action: 'work',
    summary: 'Store the bytes of a large result before it is submitted',
    body: { kind: 'bytes' },
    reply: z.object({ sha256: z.string(), size_bytes: count }),
    run: async ({ house, params, body }: Ask) => {
      const { tenant_id } = scopeOf({ params });
      return answer(await house.coordinator.putBlob(tenant_id, param({ params }, 'sha256'), body as Buffer));
    },
  }),
  route({
    id: 'get_blob',
    method: 'GET',
    path: `${PROJECT}/blobs/{sha256}`,
    action: 'read',
    summary: 'The bytes of a large result',
    reply: { content_type: 'application/octet-stream' },
    run: async ({ house, params }: Ask) => {
      const { tenant_id } = scopeOf({ params });
      const found = await house.coordinator.queries.getBlob(tenant_id, param({ params }, 'sha256'));
      return isProblem(found) ? answer(found) : bytes(found);
    },
  }),
];
