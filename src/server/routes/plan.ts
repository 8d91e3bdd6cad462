import { JsonText } from '../../coordinator/documents/json-text.js';
import { parseBody } from '../../coordinator/operations/parse-body.js';
import { isProblem, type Problem, problem } from '../../coordinator/wire/problem.js';
import { planEnvelope, tasksEnvelope } from '../../core/contract/plan.js';
import { toResponse } from '../response.js';
import { type Handlers, projectKeyOf } from '../route.js';

const etagOf = (version: number) => ({ etag: `"${version}"` });

/** The reply, with the resulting version as its ETag. */
const withEtag = (reply: { version: number } | Problem) =>
  isProblem(reply) ? toResponse(reply) : toResponse(reply, etagOf(reply.version));

/** Null accepts any version. */
function parseIfMatch(ifMatch: string | undefined): number | null | Problem {
  if (ifMatch === undefined || ifMatch.trim() === '*') return null;
  const version = /^\s*(?:W\/)?"?(\d{1,15})"?\s*$/.exec(ifMatch)?.[1];
  if (version !== undefined) return Number(version);
  const message = 'expected the ETag of the plan, or *';
  return problem('INVALID_REQUEST', `If-Match: ${message}`, [{ path: 'If-Match', message }]);
}

/** Splits `request_id` from a JSON plan. A large plan's is read together with its text; a YAML plan has it in the query. */
function splitRequestId(body: unknown): { plan: unknown; request_id?: string } | Problem {
  if (body instanceof JsonText || typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { plan: body };
  }
  const read = parseBody(planEnvelope, body);
  if (isProblem(read)) return read;
  const { request_id, signature: _, ...plan } = read;
  return { plan, ...(request_id === undefined ? {} : { request_id }) };
}

export const planHandlers = {
  get_plan: async ({ context, params }) =>
    withEtag(await context.coordinator.plans.get(projectKeyOf({ params }))),

  put_plan: async ({ context, params, query, body, caller, request }) => {
    const parsed = splitRequestId(body);
    if (isProblem(parsed)) return toResponse(parsed);
    const if_match = parseIfMatch(request.headers.get('if-match') ?? undefined);
    if (isProblem(if_match)) return toResponse(if_match);
    const { plan, ...requestFields } = parsed;
    const options = { ...query, ...requestFields, ...(if_match === null ? {} : { if_match }) };
    return withEtag(await context.coordinator.plans.put(projectKeyOf({ params }), plan, options, caller));
  },

  add_tasks: async ({ context, params, body, caller }) => {
    const { plans } = context.coordinator;
    if (body instanceof JsonText)
      return withEtag(await plans.add(projectKeyOf({ params }), body, {}, caller));
    const read = parseBody(tasksEnvelope, body);
    if (isProblem(read)) return toResponse(read);
    const { tasks, request_id } = read;
    const options = request_id === undefined ? {} : { request_id };
    return withEtag(await plans.add(projectKeyOf({ params }), tasks, options, caller));
  },
} satisfies Partial<Handlers>;
