import { createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Answer, text } from '../answer.js';
import { authorize } from '../auth/authorize.js';
import { whileAuthorized } from '../gone.js';
import { type Ask, type Route, route } from '../route.js';
import { CoordinatorFleet } from './coordinator-fleet.js';
import type { Fleet, Trouble } from './fleet.js';
import { mcpServer, type Visit } from './mcp-server.js';

/**
 * MCP over streamable HTTP, in the current revision and the one before. Stateless: any server answers any call. Nothing
 * that is listed ever changes, so there is nothing to subscribe to, and every answer is whole.
 */
const handler = createMcpHandler(({ authInfo }) => mcpServer(authInfo?.extra?.visit as Visit), {
  maxSubscriptions: 0,
});

/** The work that a tool is called with, by its names or by the handle. */
function workOf(body: unknown): unknown {
  const given = inside(inside(body, 'params'), 'arguments');
  const task_id = inside(inside(given, 'handle'), 'task_id') ?? inside(given, 'task_id');
  return { task_id, feature_id: inside(given, 'feature_id'), edge: inside(given, 'edge') };
}

const inside = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const common = {
  method: 'POST',
  action: 'read',
  body: { kind: 'json', schema: z.unknown() },
  reply: { content_type: 'application/json' },
  about: workOf,
  run: (ask: Ask) => whileAuthorized(ask, (ended) => spoken(ask, ended)),
} as const;

export const mcpRoutes: readonly Route[] = [
  route({ ...common, id: 'mcp', path: '/mcp', tenant: 'own', summary: 'The Model Context Protocol' }),
  route({
    ...common,
    id: 'mcp_project',
    path: '/mcp/{tenant_id}/{project_id}',
    summary: 'The same, for clients that can be given an address and nothing else',
  }),
];

/** The protocol has none since 2025-06-18: one would be thousands of calls for the price of one request. */
const NO_BATCHES: Answer = {
  ...text(
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

async function spoken(ask: Ask, gone: AbortSignal): Promise<Answer> {
  const { principal, tenant_id, incoming, body } = ask;
  if (Array.isArray(body)) return NO_BATCHES;
  const visit: Visit = {
    fleet: await fleetFor(ask, gone),
    identity: { agent_id: headerOf(ask, 'x-genesis-agent'), session_id: headerOf(ask, 'x-genesis-session') },
    may: (action) => authorize(principal, action, tenant_id) === 'allowed',
  };
  const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as [string, string]] : [],
  );
  const request = new Request('http://localhost/mcp', { method: 'POST', headers, signal: gone });
  const authInfo = { token: '', clientId: principal.id, scopes: [], extra: { visit } };
  const response = await handler.fetch(request, { authInfo, parsedBody: body });
  const said = text(await response.text(), 'application/json');
  const { status } = response;
  return { ...said, status, headers: { ...said.headers, ...Object.fromEntries(response.headers) } };
}

/** The project of the path, of the header, or the only one there is. */
async function fleetFor(ask: Ask, gone: AbortSignal): Promise<Fleet | Trouble> {
  const { tenant_id, params, house, caller } = ask;
  const { coordinator } = house;
  const project_id =
    params.project_id ??
    headerOf(ask, 'x-genesis-project') ??
    onlyOne(await coordinator.queries.projectsOf(tenant_id));
  if (project_id !== undefined) {
    return new CoordinatorFleet(coordinator, { tenant_id, project_id }, caller, gone);
  }
  const detail =
    'Which project? Use the address /mcp/{tenant_id}/{project_id}, or send the header X-Genesis-Project.';
  return { problem: 'INVALID_REQUEST', detail };
}

const onlyOne = (names: readonly string[]): string | undefined => (names.length === 1 ? names[0] : undefined);

function headerOf({ incoming }: Ask, name: string): string | undefined {
  const value = incoming.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
