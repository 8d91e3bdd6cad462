import type { BodyOf, ReplyTo } from '../../../src/client/requests.js';
import type { OPERATIONS as CONTRACT } from '../../../src/core/contract/operations.js';
import type { ProblemDocument } from '../../../src/core/contract/problem.js';
import { noteServerTime } from '../live/server-clock.js';
import { readKey } from './key.js';
import { OPERATIONS } from './operations.generated.js';
import { scope } from './scope.js';

export type OperationId = keyof typeof OPERATIONS & keyof typeof CONTRACT;
export type Reply<Id extends OperationId> = ReplyTo<Id>;

export interface CallInput {
  /** Values of the `{param}`s in the path, except tenant and project. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: object;
}

/** Thrown if the answer is a problem or not from a coordinator, or if there is none. A refusal by the rules is a reply. */
export class CallFailure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

/** Whether the call failed because the server wants a key, or another one. */
export const isUnauthenticated = (error: unknown): boolean =>
  error instanceof CallFailure && error.status === 401;

/** Calls an operation of the contract for the project that the page shows. */
export async function call<Id extends OperationId>(
  id: Id,
  input: CallInput = {},
  signal: AbortSignal | null = null,
): Promise<Reply<Id>> {
  const response = await send(id, input, signal);
  const reply = parseObject(await response.text());
  if (isProblem(reply)) throw new CallFailure(response.status, reply.code, reply.detail);
  // The reply is not from a coordinator: a proxy in between has answered.
  if (reply === null || !(response.ok || 'reason' in reply))
    throw new CallFailure(
      response.status,
      'UNREADABLE',
      `The answer with status ${response.status} is not from a coordinator. Check the proxy in front of the coordinator.`,
    );
  return reply as Reply<Id>;
}

/** The object in a JSON text, empty for an empty text; null if the text is something else. */
function parseObject(text: string): object | null {
  try {
    const value: unknown = text === '' ? {} : JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/** Sends a command. Its body is checked against the contract by the compiler. */
export const command = <Id extends OperationId>(
  id: Id,
  body: Omit<BodyOf<Id>, 'project_id'>,
  params: Readonly<Record<string, string>> = {},
): Promise<Reply<Id>> => call(id, { body, params });

export async function send(
  id: OperationId,
  { params = {}, query = {}, body }: CallInput,
  signal: AbortSignal | null = null,
): Promise<Response> {
  const [method, template] = OPERATIONS[id];
  // The reply describes the caller, so it does not depend on the tenant and project that the page shows.
  const isOfCaller = id === 'whoami';
  const omitsProjectField =
    isOfCaller || template.includes('{project_id}') || template.startsWith('/api/tenants/');
  const project = omitsProjectField ? {} : { project_id: scope().project };
  const url = new URL(fill(template, { ...pathScope(), ...params }), location.origin);
  const queryFields = method === 'GET' ? { ...project, ...query } : query;
  for (const [name, value] of Object.entries(queryFields))
    if (value !== undefined) url.searchParams.set(name, String(value));
  const key = readKey();
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  // The paths of the methodology name no tenant. Without the header they apply to the caller's own tenant.
  if (!isOfCaller && !template.includes('{tenant_id}')) headers['x-genesis-tenant'] = scope().tenant;
  const requestBody =
    body === undefined ? null : JSON.stringify({ ...project, request_id: crypto.randomUUID(), ...body });
  if (requestBody !== null) headers['content-type'] = 'application/json';
  try {
    const response = await fetch(url, { method, headers, body: requestBody, signal });
    noteServerTime(response.headers.get('date'));
    return response;
  } catch {
    throw new CallFailure(0, 'UNREACHABLE', 'The server does not respond. Check that it is running.');
  }
}

const pathScope = () => ({ tenant_id: scope().tenant, project_id: scope().project });

const fill = (template: string, params: Readonly<Record<string, string>>): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));

const isProblem = (reply: object | null): reply is ProblemDocument =>
  reply !== null && 'detail' in reply && 'code' in reply && 'status' in reply;
