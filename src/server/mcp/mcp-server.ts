import { McpServer } from '@modelcontextprotocol/server';
import type { Action } from '../auth/principal.js';
import { type Fleet, isTrouble, type Trouble } from './fleet.js';
import { type Identity, TOOLS, type ToolReply, troubled } from './tools.js';

const INSTRUCTIONS = `Genesis Fleet hands out the tasks of a shared plan; each has one holder at a time.
Loop: next, do what its briefing says, submit with the handle it gave. Keep the handle: every call about the work needs it.
Renew when the work is long; leave notes; release what you cannot do. A refusal tells what to do in "next". If you lost a claim, stop that work.`;

/** The lists never change while a server runs: a client may keep them for the day. */
const LISTS_KEPT_MS = 24 * 3600 * 1000;

/** Of the tools: it changes when a client would notice. */
const VERSION = '1';

export interface Visit {
  /** Or why there is none: the tools can be listed, and each says so when it is called. */
  readonly fleet: Fleet | Trouble;
  readonly identity: Identity;
  /** Whoever may not use a tool does not see it. */
  readonly may: (action: Action) => boolean;
}

/** A server of the protocol for one connection or one request: it holds nothing between two calls. */
export function mcpServer({ fleet, identity, may }: Visit): McpServer {
  const kept = { ttlMs: LISTS_KEPT_MS, cacheScope: 'private' } as const;
  const server = new McpServer(
    { name: 'genesis-fleet', version: VERSION },
    {
      capabilities: { tools: { listChanged: false } },
      instructions: INSTRUCTIONS,
      cacheHints: { 'tools/list': kept, 'server/discover': kept },
    },
  );
  for (const { name, description, input, action, run } of TOOLS) {
    if (!may(action)) continue;
    const annotations = { readOnlyHint: action === 'read' };
    server.registerTool(name, { description, inputSchema: input, annotations }, async (args) =>
      rendered(isTrouble(fleet) ? troubled(fleet) : await run(fleet, args, identity)),
    );
  }
  return server;
}

/** The same words twice: clients differ in which of the two they show to the model. */
function rendered({ told, is_error }: ToolReply) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(told) }],
    structuredContent: told,
    ...(is_error ? { isError: true } : {}),
  };
}
