import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { authorize } from '../auth/authorize.js';
import { callerOf, type Principal } from '../auth/principal.js';
import { CoordinatorFleet } from './coordinator-fleet.js';
import type { Fleet, Trouble } from './fleet.js';
import { mcpServer, type Visit } from './mcp-server.js';

export interface Visitor {
  readonly principal: Principal;
  readonly client_ip: string | null;
  /** From a path `/mcp/{tenant_id}/{project_id}`, for clients that can be given an address and nothing else. */
  readonly tenant_id?: string | undefined;
  readonly project_id?: string | undefined;
}

export interface McpEndpoint {
  /** Null: the tenant is not the visitor's, and looks like one that is not there. */
  answer(request: Request, visitor: Visitor, body?: unknown): Promise<Response | null>;
  close(): Promise<void>;
}

const TENANT_DEFAULT = 'default';

/** MCP over streamable HTTP, in the current revision and the one before. Stateless: any server answers any call. */
export function mcpEndpoint(coordinator: Coordinator, version: string): McpEndpoint {
  const handler = createMcpHandler(({ authInfo }) => mcpServer(version, authInfo?.extra?.visit as Visit), {
    // Nothing that is listed ever changes, so there is nothing to subscribe to.
    maxSubscriptions: 0,
  });
  return {
    close: () => handler.close(),
    async answer(request, visitor, body) {
      const { principal } = visitor;
      const tenant_id =
        visitor.tenant_id ?? request.headers.get('x-genesis-tenant') ?? principal.tenant_id ?? TENANT_DEFAULT;
      if (authorize(principal, 'read', tenant_id) === 'hidden') return null;
      const rejected = principal.kind === 'open' ? foreign(request) : undefined;
      if (rejected !== undefined) return rejected;
      const visit: Visit = {
        fleet: await fleetFor(coordinator, request, visitor, tenant_id),
        identity: {
          agent_id: request.headers.get('x-genesis-agent') ?? undefined,
          session_id: request.headers.get('x-genesis-session') ?? undefined,
        },
        may: (action) => authorize(principal, action, tenant_id) === 'allowed',
      };
      const authInfo = { token: '', clientId: principal.id, scopes: [], extra: { visit } };
      return handler.fetch(request, body === undefined ? { authInfo } : { authInfo, parsedBody: body });
    },
  };
}

/** Where nobody has to say who they are, a page in a browser must not be able to ask in the name of its reader. */
const foreign = (request: Request): Response | undefined =>
  hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
  originValidationResponse(request, localhostAllowedOrigins());

/** The project of the path, of the header, or the only one there is. */
async function fleetFor(
  coordinator: Coordinator,
  request: Request,
  { principal, client_ip, project_id: named }: Visitor,
  tenant_id: string,
): Promise<Fleet | Trouble> {
  const project_id =
    named ??
    request.headers.get('x-genesis-project') ??
    onlyOne(await coordinator.queries.projectsOf(tenant_id));
  if (project_id === null) {
    const detail =
      'Which project? Use the address /mcp/{tenant_id}/{project_id}, or send the header X-Genesis-Project.';
    return { problem: 'INVALID_REQUEST', detail };
  }
  return new CoordinatorFleet(coordinator, { tenant_id, project_id }, callerOf(principal, client_ip));
}

const onlyOne = (names: readonly string[]): string | null => (names.length === 1 ? (names[0] ?? null) : null);
