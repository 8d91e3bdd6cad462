import { Client, type Transport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

/** A guard against hanging, not a measure of speed. */
const REQUEST_OPTIONS = { timeout: 600_000 };

export interface McpToolReply {
  readonly [field: string]: unknown;
}

/** The official client, pinned to one revision of the protocol. */
export async function mcpClient(transport: Transport, revision: Revision): Promise<Client> {
  const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
  const client = new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport, REQUEST_OPTIONS);
  onTestFinished(() => client.close());
  return client;
}

/** Calls a tool and returns its reply. The result must have the reply once, as its only text block. */
export async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<McpToolReply> {
  const result = await client.callTool({ name, arguments: args }, REQUEST_OPTIONS);
  const [first] = result.content;
  const text = first?.type === 'text' ? first.text : '';
  const reply = JSON.parse(text) as McpToolReply;
  if (result.structuredContent !== undefined || result.content.length !== 1)
    throw new Error(`The reply occurs more than once: ${text}`);
  return result.isError === true ? { ...reply, is_error: true } : reply;
}

/**
 * An agent that remembers only the last reply, which must tell it what to call and with which arguments. Works until
 * nothing is left; returns the replies in order.
 */
export async function runForgetfulAgent(client: Client): Promise<McpToolReply[]> {
  const replies: McpToolReply[] = [];
  let lastReply: McpToolReply = {};
  for (;;) {
    if ('handle' in lastReply) {
      const tool = lastReply.reason === 'GRANTED' ? 'note' : 'submit';
      const args = tool === 'note' ? { text: 'half way' } : { result_data: { made: 'something' } };
      lastReply = await callTool(client, tool, { handle: lastReply.handle, ...args });
    } else if (lastReply.reason === 'NOTHING_READY') {
      return replies;
    } else {
      lastReply = await callTool(
        client,
        'next',
        lastReply.session_id === undefined ? {} : { session_id: lastReply.session_id },
      );
    }
    replies.push(lastReply);
  }
}
