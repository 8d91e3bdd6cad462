import { CLIENT_INFO_META_KEY, McpServer } from '@modelcontextprotocol/server';
import type { ApiClient } from '../../client/api-client.js';
import { type ApiProblem, isProblem } from '../../client/replies.js';
import type { Action } from '../../core/contract/operation.js';
import { type McpIdentity, problemToolResult } from './define-tool.js';
import type { McpDrafts } from './drafts.js';
import { toolsOf } from './tools.js';

const INSTRUCTIONS = `Genesis Fleet assigns the tasks of a shared plan and the edges of features; each has one holder at a time.
Loop: call next, follow its briefing, submit with the handle it returned. Every call about the work needs the handle; if you lost it, call next again.
Renew the lease of long work; leave notes; release what you cannot do. "next" in a refusal is the next step. If you lose a claim, stop that work.`;

/** The tool list never changes while a server runs, so clients may cache it for a day. */
const LISTS_TTL_MS = 24 * 3600 * 1000;

/** Version of the tools. Changes when clients would notice a difference. */
const TOOLS_VERSION = '2';

export interface McpServerOptions {
  /** The client, or the problem that every call returns because there is no client. The tools are listed either way. */
  readonly client: ApiClient | ApiProblem;
  readonly identity: McpIdentity;
  /** Makes an agent id of the client's name, if the identity has none. Only where a process serves one client. */
  readonly nameAgent?: (clientName: string) => string;
  /** Tools that the caller may not use are not listed. */
  readonly isAllowed: (action: Action) => boolean;
  /** Only where the server runs on the agent's machine, in a workspace. */
  readonly drafts?: McpDrafts | null;
  /** Called when the model calls a tool. */
  readonly onCall?: () => void;
}

/** An MCP server for one connection or request, without state between calls. */
export function createMcpServer(options: McpServerOptions): McpServer {
  const { client, identity, nameAgent, isAllowed, onCall, drafts = null } = options;
  const cacheHint = { ttlMs: LISTS_TTL_MS, cacheScope: 'private' } as const;
  const server = new McpServer(
    { name: 'genesis-fleet', version: TOOLS_VERSION },
    {
      capabilities: { tools: { listChanged: false } },
      instructions: INSTRUCTIONS,
      cacheHints: { 'tools/list': cacheHint, 'server/discover': cacheHint },
    },
  );
  for (const { name, description, input, action, run } of toolsOf(drafts !== null)) {
    if (!isAllowed(action)) continue;
    const annotations = { readOnlyHint: action === 'read' };
    server.registerTool(name, { description, inputSchema: input, annotations }, async (args, { mcpReq }) => {
      onCall?.();
      if (isProblem(client)) return problemToolResult(client);
      const clientName = clientNameIn(mcpReq.envelope) ?? server.server.getClientVersion()?.name ?? 'mcp';
      const agent_id = identity.agent_id ?? nameAgent?.(clientName);
      return run({ client, identity: { ...identity, agent_id }, drafts }, args);
    });
  }
  return server;
}

/** Newer clients name themselves in every request, older ones once. */
const clientNameIn = (envelope: Readonly<Record<string, unknown>> | undefined): string | undefined =>
  (envelope?.[CLIENT_INFO_META_KEY] as { readonly name?: string } | undefined)?.name;
