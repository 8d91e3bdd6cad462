import { createMcpHandler } from '@modelcontextprotocol/server';
import { ApiClient } from '../../client/api-client.js';
import type { ApiProblem } from '../../client/replies.js';
import { authorize } from '../auth/authorize.js';
import { type HttpResponse, textResponse } from '../response.js';
import type { ApiCall, Handlers } from '../route.js';
import { whileAuthorized } from '../while-authorized.js';
import { createMcpServer, type McpServerOptions } from './mcp-server.js';

/**
 * MCP over streamable HTTP, in the current revision and the one before. Stateless: any server answers any call. The
 * lists never change, so there are no subscriptions, and every response is complete.
 */
const handler = createMcpHandler(
  ({ authInfo }) => createMcpServer(authInfo?.extra?.serverOptions as McpServerOptions),
  {
    maxSubscriptions: 0,
  },
);

/** The subject of a tool call for the access log: from the handle or from the arguments that name it. */
function toolSubjectOf(body: unknown): unknown {
  const toolArguments = fieldOf(fieldOf(body, 'params'), 'arguments');
  const task_id = fieldOf(fieldOf(toolArguments, 'handle'), 'task_id') ?? fieldOf(toolArguments, 'task_id');
  return { task_id, feature_id: fieldOf(toolArguments, 'feature_id'), edge: fieldOf(toolArguments, 'edge') };
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

function handleMcp(call: ApiCall): Promise<HttpResponse> {
  call.loggedFields = toolSubjectOf(call.body);
  return whileAuthorized(call, (endSignal) => handleMcpMessage(call, endSignal));
}

export const mcpHandlers = { mcp: handleMcp, mcp_project: handleMcp } satisfies Partial<Handlers>;

/** The protocol has had no batches since 2025-06-18, and a batch could evade the rate limit with thousands of calls. */
const BATCH_REJECTED: HttpResponse = {
  ...textResponse(
    JSON.stringify({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'Batches are not supported: send one message.' },
    }),
    'application/json',
  ),
  status: 400,
  code: 'INVALID_REQUEST',
};

async function handleMcpMessage(call: ApiCall, endSignal: AbortSignal): Promise<HttpResponse> {
  const { principal, tenant, body } = call;
  if (Array.isArray(body)) return BATCH_REJECTED;
  const serverOptions: McpServerOptions = {
    client: await clientFor(call),
    identity: {
      agent_id: headerOf(call, 'x-genesis-agent'),
      session_id: headerOf(call, 'x-genesis-session'),
    },
    isAllowed: (action) => authorize(principal, action, tenant) === 'allowed',
  };
  const headers = call.connection.headers();
  const webRequest = new Request('http://localhost/mcp', { method: 'POST', headers, signal: endSignal });
  const authInfo = { token: '', clientId: principal.id, scopes: [], extra: { serverOptions } };
  const response = await handler.fetch(webRequest, { authInfo, parsedBody: body });
  const reply = textResponse(await response.text(), 'application/json');
  const { status } = response;
  return { ...reply, status, headers: { ...reply.headers, ...Object.fromEntries(response.headers) } };
}

/** A client for the project that the path or the header names, otherwise for the only project of the tenant. */
async function clientFor(call: ApiCall): Promise<ApiClient | ApiProblem> {
  const { tenant, params, coordinator } = call;
  const project =
    params.project_id ??
    headerOf(call, 'x-genesis-project') ??
    theOnly(await coordinator.queries.projectsOf(tenant));
  if (project !== undefined) {
    const fetch = (request: Request) => call.fetch(request);
    return new ApiClient({ fetch, url: APP_URL, tenant, project, retry: ONE_TRY });
  }
  const detail =
    'No project is given. Use the URL /mcp/{tenant_id}/{project_id}, or send the header X-Genesis-Project.';
  return { code: 'INVALID_REQUEST', detail, status: 400 };
}

/** The host is not resolved: the app in this process answers. */
const APP_URL = 'http://localhost';
/** The client of the outer call decides whether to retry. */
const ONE_TRY = { tries: 1 };

const theOnly = (names: readonly string[]): string | undefined => (names.length === 1 ? names[0] : undefined);

const headerOf = ({ connection }: ApiCall, name: string): string | undefined =>
  connection.header(name) || undefined;
