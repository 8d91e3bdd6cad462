import { McpServer } from '@modelcontextprotocol/server';
import type { Action } from '../auth/principal.js';
import { isMcpProblem, type McpBackend, type McpProblem } from './backend.js';
import { type McpIdentity, problemToolReply, TOOLS, type ToolReply } from './tools.js';

const INSTRUCTIONS = `Genesis Fleet hands out the tasks of a shared plan; each has one holder at a time.
Loop: next, do what its briefing says, submit with the handle it gave. Keep the handle: every call about the work needs it.
Renew when the work is long; leave notes; release what you cannot do. A refusal tells what to do in "next". If you lost a claim, stop that work.`;

/** The tool list never changes while a server runs, so clients may cache it for a day. */
const LISTS_TTL_MS = 24 * 3600 * 1000;

/** Version of the tools. Changes when clients would notice a difference. */
const TOOLS_VERSION = '1';

export interface McpServerOptions {
  /** Or why there is no backend: the tools are listed, and each call returns this problem. */
  readonly backend: McpBackend | McpProblem;
  readonly identity: McpIdentity;
  /** Tools that the caller may not use are not listed. */
  readonly isAllowed: (action: Action) => boolean;
}

/** An MCP server for one connection or request, without state between calls. */
export function createMcpServer({ backend, identity, isAllowed }: McpServerOptions): McpServer {
  const cacheHint = { ttlMs: LISTS_TTL_MS, cacheScope: 'private' } as const;
  const server = new McpServer(
    { name: 'genesis-fleet', version: TOOLS_VERSION },
    {
      capabilities: { tools: { listChanged: false } },
      instructions: INSTRUCTIONS,
      cacheHints: { 'tools/list': cacheHint, 'server/discover': cacheHint },
    },
  );
  for (const { name, description, input, action, run } of TOOLS) {
    if (!isAllowed(action)) continue;
    const annotations = { readOnlyHint: action === 'read' };
    server.registerTool(name, { description, inputSchema: input, annotations }, async (args) =>
      toCallResult(isMcpProblem(backend) ? problemToolReply(backend) : await run(backend, args, identity)),
    );
  }
  return server;
}

/** The same content twice, because clients differ in which field they show to the model. */
function toCallResult({ content, is_error }: ToolReply) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(content) }],
    structuredContent: content,
    ...(is_error ? { isError: true } : {}),
  };
}
