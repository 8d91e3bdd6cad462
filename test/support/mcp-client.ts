import { Client, type Transport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

/** A guard against hanging, and no measure of speed. */
const PATIENCE = { timeout: 600_000 };

export interface Told {
  readonly [word: string]: unknown;
}

/** The official client, speaking one revision of the protocol. */
export async function mcpClient(transport: Transport, revision: Revision): Promise<Client> {
  const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
  const client = new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport, PATIENCE);
  onTestFinished(() => client.close());
  return client;
}

/** Calls a tool and returns what it told, which must be the same in both forms. */
export async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Told> {
  const result = await client.callTool({ name, arguments: args }, PATIENCE);
  const [first] = result.content;
  const text = first?.type === 'text' ? first.text : '';
  const told = JSON.parse(text) as Told;
  if (JSON.stringify(result.structuredContent) !== text) throw new Error(`two different replies: ${text}`);
  return result.isError === true ? { ...told, is_error: true } : told;
}

/**
 * An agent whose memory is the last reply and nothing else: what to call, and with which arguments, it must find in
 * there. Works until nothing is left; returns what it was told, in order.
 */
export async function forgetfulAgent(client: Client): Promise<Told[]> {
  const heard: Told[] = [];
  let last: Told = {};
  for (;;) {
    if ('handle' in last) {
      const told = last.reason === 'GRANTED' ? 'note' : 'submit';
      const said = told === 'note' ? { text: 'half way' } : { result_data: { made: 'something' } };
      last = await call(client, told, { handle: last.handle, ...said });
    } else if (last.reason === 'NOTHING_READY') {
      return heard;
    } else {
      last = await call(client, 'next', last.session_id === undefined ? {} : { session_id: last.session_id });
    }
    heard.push(last);
  }
}
