import { jsonOrText } from '../json-or-text.js';
import type { McpConnection } from './mcp-connection.js';

const PROTOCOL_VERSION = '2025-11-25';

interface Handshake {
  /** Names of the tools. */
  readonly tools: readonly string[];
  /** Why the project's status could not be read; null if it was read. */
  readonly problem: string | null;
}

/** Connects as a client does: initialize, list the tools, call a tool that reads the project. Throws if the server fails. */
export async function performHandshake(connection: McpConnection): Promise<Handshake> {
  const clientInfo = { name: 'gen-setup-check', version: '1' };
  await connection.request('initialize', { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo });
  await connection.notify('notifications/initialized');
  const { tools = [] } = (await connection.request('tools/list', {})) as { tools?: { name: string }[] };
  const reply = (await connection.request('tools/call', { name: 'status', arguments: {} })) as ToolReply;
  return { tools: tools.map(({ name }) => name), problem: reply.isError === true ? problemIn(reply) : null };
}

interface ToolReply {
  readonly isError?: boolean;
  readonly content?: readonly { readonly text?: string }[];
}

function problemIn({ content = [] }: ToolReply): string {
  const text = content.map((part) => part.text ?? '').join(' ');
  const reply = jsonOrText(text) as { reason?: string; code?: string; detail?: string; next?: string };
  const code = reply.reason ?? reply.code;
  if (code === undefined) return text;
  const advice = code === 'UNAUTHENTICATED' ? 'Set GENESIS_TOKEN to the token of a valid key.' : reply.next;
  return [`${code}: ${reply.detail ?? ''}`.trim(), advice].filter((part) => part !== undefined).join(' ');
}
