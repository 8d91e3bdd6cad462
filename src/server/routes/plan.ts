import { UnparsedJson } from '../../coordinator/documents/unparsed-json.js';
import { parseBody } from '../../coordinator/operations/parse-body.js';
import { isProblem, type Problem, problem } from '../../coordinator/wire/problem.js';
import { planEnvelope, tasksEnvelope } from '../../core/contract/plan.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { type HttpResponse, toResponse } from '../response.js';
import type { Handlers } from '../route.js';

/** The reply, with the resulting version as its ETag. */
function withEtag(reply: { version: number } | Problem): HttpResponse {
  const response = toResponse(reply);
  if (isProblem(reply)) return response;
  return { ...response, headers: { ...response.headers, etag: `"${reply.version}"` } };
}

/** The version of the plan that `If-Match` requires; null if it accepts any version. */
function parseIfMatch(ifMatch: string | null): number | null | Problem {
  if (ifMatch === null || ifMatch.trim() === '*') return null;
  const version = /^\s*(?:W\/)?"?(\d{1,15})"?\s*$/.exec(ifMatch)?.[1];
  if (version !== undefined) return Number(version);
  const message = 'expected the ETag of the plan, or *';
  return problem('INVALID_REQUEST', `If-Match: ${message}`, [{ path: 'If-Match', message }]);
}

/**
 * Splits `request_id` from a JSON plan. A large plan is split later, when its text is parsed. For a YAML plan the id is in
 * the query.
 */
function splitRequestId(body: unknown): { plan: unknown; request_id?: string } | Problem {
  if (body instanceof UnparsedJson || typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { plan: body };
  }
  const fields = parseBody(planEnvelope, body);
  if (isProblem(fields)) return fields;
  const { request_id, signature: _, ...plan } = fields;
  return { plan, ...withoutUndefined({ request_id }) };
}

export const planHandlers = {
  get_plan: async ({ coordinator, projectKey, query }) =>
    withEtag(await coordinator.plans.get(projectKey, query)),

  put_plan: async ({ coordinator, projectKey, query, body, caller, connection }) => {
    const parsed = splitRequestId(body);
    if (isProblem(parsed)) return toResponse(parsed);
    const if_match = parseIfMatch(connection.header('if-match'));
    if (isProblem(if_match)) return toResponse(if_match);
    const { plan, ...requestFields } = parsed;
    const options = { ...query, ...requestFields, ...(if_match === null ? {} : { if_match }) };
    return withEtag(await coordinator.plans.put(projectKey, plan, options, caller));
  },

  add_tasks: async ({ coordinator, projectKey, body, caller }) => {
    const { plans } = coordinator;
    if (body instanceof UnparsedJson) return withEtag(await plans.add(projectKey, body, {}, caller));
    const fields = parseBody(tasksEnvelope, body);
    if (isProblem(fields)) return toResponse(fields);
    const { tasks, request_id } = fields;
    return withEtag(await plans.add(projectKey, tasks, withoutUndefined({ request_id }), caller));
  },
} satisfies Partial<Handlers>;
