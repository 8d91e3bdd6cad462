import { createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { authorize } from '../auth/authorize.js';
import { type HttpResponse, textResponse } from '../response.js';
import { defineRoute, type RequestContext, type Route } from '../route.js';
import { whileAuthorized } from '../while-authorized.js';
import type { McpBackend, McpProblem } from './backend.js';
import { CoordinatorBackend } from './coordinator-backend.js';
import { createMcpServer, type McpServerOptions } from './mcp-server.js';

/**
 * MCP over streamable HTTP, in the current revision and the one before. Stateless: any server answers any call. The
 * lists never change, so there are no subscriptions, and every response is complete.
 */
const handler = createMcpHandler(
  ({ authInfo }) => createMcpServer(authInfo?.extra?.visit as McpServerOptions),
  {
    maxSubscriptions: 0,
  },
);

/** The subject of a tool call for the access log, by its names or from the handle. */
function loggedSubject(body: unknown): unknown {
  const toolArguments = fieldOf(fieldOf(body, 'params'), 'arguments');
  const task_id = fieldOf(fieldOf(toolArguments, 'handle'), 'task_id') ?? fieldOf(toolArguments, 'task_id');
  return { task_id, feature_id: fieldOf(toolArguments, 'feature_id'), edge: fieldOf(toolArguments, 'edge') };
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const commonRoute = {
  method: 'POST',
  action: 'read',
  body: { kind: 'json', schema: z.unknown() },
  reply: { content_type: 'application/json' },
  about: loggedSubject,
  run: (request: RequestContext) => whileAuthorized(request, (ended) => handleMcpMessage(request, ended)),
} as const;

export const mcpRoutes: readonly Route[] = [
  defineRoute({
    ...commonRoute,
    id: 'mcp',
    path: '/mcp',
    tenant: 'own',
    summary: 'The Model Context Protocol',
  }),
  defineRoute({
    ...commonRoute,
    id: 'mcp_project',
    path: '/mcp/{tenant_id}/{project_id}',
    summary: 'The same, for clients that can be given an address and nothing else',
  }),
];

/** The protocol has had no batches since 2025-06-18, and one would evade the rate limit with thousands of calls. */
const BATCH_REJECTED: HttpResponse = {
  ...textResponse(
    JSON.stringify({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'A batch is not taken: send one message.' },
    }),
    'application/json',
  ),
  status: 400,
  code: 'INVALID_REQUEST',
};

async function handleMcpMessage(request: RequestContext, clientSignal: AbortSignal): Promise<HttpResponse> {
  const { principal, tenant_id, incoming, body } = request;
  if (Array.isArray(body)) return BATCH_REJECTED;
  const serverOptions: McpServerOptions = {
    backend: await backendFor(request, clientSignal),
    identity: {
      agent_id: headerOf(request, 'x-genesis-agent'),
      session_id: headerOf(request, 'x-genesis-session'),
    },
    isAllowed: (action) => authorize(principal, action, tenant_id) === 'allowed',
  };
  const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as [string, string]] : [],
  );
  const webRequest = new Request('http://localhost/mcp', { method: 'POST', headers, signal: clientSignal });
  const authInfo = { token: '', clientId: principal.id, scopes: [], extra: { visit: serverOptions } };
  const response = await handler.fetch(webRequest, { authInfo, parsedBody: body });
  const reply = textResponse(await response.text(), 'application/json');
  const { status } = response;
  return { ...reply, status, headers: { ...reply.headers, ...Object.fromEntries(response.headers) } };
}

/** The project of the path, of the header, or the tenant's only one. */
async function backendFor(
  request: RequestContext,
  clientSignal: AbortSignal,
): Promise<McpBackend | McpProblem> {
  const { tenant_id, params, context, caller } = request;
  const { coordinator } = context;
  const project_id =
    params.project_id ??
    headerOf(request, 'x-genesis-project') ??
    onlyOne(await coordinator.queries.projectsOf(tenant_id));
  if (project_id !== undefined) {
    return new CoordinatorBackend(coordinator, { tenant_id, project_id }, caller, clientSignal);
  }
  const detail =
    'Which project? Use the address /mcp/{tenant_id}/{project_id}, or send the header X-Genesis-Project.';
  return { problem: 'INVALID_REQUEST', detail };
}

const onlyOne = (names: readonly string[]): string | undefined => (names.length === 1 ? names[0] : undefined);

function headerOf({ incoming }: RequestContext, name: string): string | undefined {
  const value = incoming.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
