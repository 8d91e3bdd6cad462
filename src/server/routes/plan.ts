import { z } from 'zod';
import { JsonText } from '../../coordinator/documents/json-text.js';
import { readBody } from '../../coordinator/operations/read.js';
import { isProblem, type Problem, problem } from '../../coordinator/problem.js';
import { requestIdSchema } from '../../core/ids.js';
import { answer } from '../answer.js';
import { type Ask, PROJECT, type Route, route, scopeOf } from '../route.js';
import { addTasksBody, besidePlan, besideTasks, planResult, planView, putPlanBody } from '../schemas/plan.js';

const etagOf = (version: number) => ({ etag: `"${version}"` });

/** The answer, and the version it leads to as its tag. */
const tagged = (reply: { version: number } | Problem) =>
  isProblem(reply) ? answer(reply) : answer(reply, etagOf(reply.version));

/** Null: whatever version there is. */
function versionWanted(if_match: string | undefined): number | null | Problem {
  if (if_match === undefined || if_match.trim() === '*') return null;
  const version = /^\s*(?:W\/)?"?(\d{1,15})"?\s*$/.exec(if_match)?.[1];
  if (version !== undefined) return Number(version);
  const message = 'expected the ETag of the plan, or *';
  return problem('INVALID_REQUEST', `If-Match: ${message}`, [{ path: 'If-Match', message }]);
}

/** A plan as JSON may name its request beside itself, which is read with it where it is large; as YAML it says so in the query. */
function apart(body: unknown): { plan: unknown; request_id?: string } | Problem {
  if (body instanceof JsonText || typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { plan: body };
  }
  const read = readBody(besidePlan, body);
  if (isProblem(read)) return read;
  const { request_id, signature: _, ...plan } = read;
  return { plan, ...(request_id === undefined ? {} : { request_id }) };
}

export const planRoutes: readonly Route[] = [
  route({
    id: 'get_plan',
    method: 'GET',
    path: `${PROJECT}/plan`,
    action: 'read',
    summary: 'The plan, with its version as ETag',
    reply: planView,
    run: async ({ house, params }: Ask) => tagged(await house.coordinator.plans.get(scopeOf({ params }))),
  }),
  route({
    id: 'put_plan',
    method: 'PUT',
    path: `${PROJECT}/plan`,
    action: 'operate',
    summary: 'Replace the plan, in JSON or YAML; If-Match guards against a change in between',
    query: z.strictObject({ request_id: requestIdSchema.exactOptional() }),
    body: { kind: 'plan', schema: putPlanBody },
    reply: planResult,
    run: async ({ house, params, query, body, caller, incoming }) => {
      const asked = apart(body);
      if (isProblem(asked)) return answer(asked);
      const if_match = versionWanted(incoming.headers['if-match']);
      if (isProblem(if_match)) return answer(if_match);
      const { plan, ...named } = asked;
      const options = { ...query, ...named, ...(if_match === null ? {} : { if_match }) };
      return tagged(await house.coordinator.plans.put(scopeOf({ params }), plan, options, caller));
    },
  }),
  route({
    id: 'add_tasks',
    method: 'POST',
    path: `${PROJECT}/tasks`,
    action: 'operate',
    summary: 'Add tasks and subtasks to the plan',
    body: { kind: 'json', schema: addTasksBody, is_document: true },
    reply: planResult,
    run: async ({ house, params, body, caller }: Ask) => {
      const { plans } = house.coordinator;
      if (body instanceof JsonText) return tagged(await plans.add(scopeOf({ params }), body, {}, caller));
      const read = readBody(besideTasks, body);
      if (isProblem(read)) return answer(read);
      const { tasks, request_id } = read;
      const options = request_id === undefined ? {} : { request_id };
      return tagged(await plans.add(scopeOf({ params }), tasks, options, caller));
    },
  }),
];
