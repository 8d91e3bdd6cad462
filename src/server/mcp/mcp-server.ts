import { McpServer } from '@modelcontextprotocol/server';
import type { Action } from '../auth/principal.js';
import { isMcpProblem, type McpBackend, type McpProblem } from './backend.js';
import { type McpIdentity, problemToolReply, TOOLS, type ToolReply } from './tools.js';

const INSTRUCTIONS = `Genesis Fleet hands out the tasks of a shared plan; each has one holder at a time.
Loop: next, do what its briefing says, submit with the handle it gave. Keep the handle: every call about the work needs it.
Renew when the work is long; leave notes; release what you cannot do. A refusal tells what to do in "next". If you lost a claim, stop that work.`;

/** The lists never change while a server runs: a client may keep them for the day. */
const LISTS_TTL_MS = 24 * 3600 * 1000;

/** Of the tools: it changes when a client would notice. */
const TOOLS_VERSION = '1';

export interface McpServerOptions {
  /** Or why there is none: the tools can be listed, and each says so when it is called. */
  readonly backend: McpBackend | McpProblem;
  readonly identity: McpIdentity;
  /** Whoever may not use a tool does not see it. */
  readonly isAllowed: (action: Action) => boolean;
}

/** A server of the protocol for one connection or one request: it holds nothing between two calls. */
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

/** The same words twice: clients differ in which of the two they show to the model. */
function toCallResult({ content, is_error }: ToolReply) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(content) }],
    structuredContent: content,
    ...(is_error ? { isError: true } : {}),
  };
}
