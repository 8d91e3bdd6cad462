// Replaces the model of Claude Code: starts the MCP server named in .mcp.json and completes the whole plan with its
// tools. It uses only the last reply, as a model can after its context was truncated.
//
//   npx tsx examples/claude-code/play.ts [folder of .mcp.json]
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

interface McpReply {
  readonly reason?: string;
  readonly handle?: { readonly task_id: string; readonly generation: number };
  readonly session_id?: string;
  readonly briefing?: { readonly description?: string };
  readonly [word: string]: unknown;
}

const folder = process.argv[2] ?? import.meta.dirname;
const { mcpServers } = JSON.parse(await readFile(join(folder, '.mcp.json'), 'utf8'));
const { command, args } = mcpServers.genesis;
const client = new Client({ name: 'stand-in', version: '1' });
await client.connect(new StdioClientTransport({ command, args, env: process.env as Record<string, string> }));

let acceptedCount = 0;
let refusedCount = 0;
let lastReply: McpReply = {};
while (lastReply.reason !== 'NOTHING_READY') lastReply = await nextStep(lastReply);

const { done, total } = await call('status', {});
console.log(done ? 'the plan is done' : `not done: ${JSON.stringify(total)}`);
await client.close();
process.exitCode = done === true && acceptedCount > 0 && refusedCount === 0 ? 0 : 1;

/** Chooses the next tool call from the last reply, as a model would. */
async function nextStep({ reason, handle, session_id, briefing }: McpReply): Promise<McpReply> {
  if (handle === undefined) return next(session_id);
  if (reason === 'GRANTED') return call('note', { handle, text: `began: ${briefing?.description}` });
  const reply = await call('submit', { handle, result_data: { made: handle.task_id } });
  console.log(`${handle.task_id} generation ${handle.generation}: ${reply.reason}`);
  if (reply.reason === 'ACCEPTED') acceptedCount += 1;
  else refusedCount += 1;
  return reply;
}

async function next(session_id: string | undefined): Promise<McpReply> {
  const reply = await call('next', session_id === undefined ? {} : { session_id });
  if (reply.handle === undefined && reply.reason !== 'NOTHING_READY') throw new Error(JSON.stringify(reply));
  return reply;
}

async function call(name: string, args: Record<string, unknown>): Promise<McpReply> {
  const { isError, content } = await client.callTool({ name, arguments: args });
  if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
  const [first] = content;
  return JSON.parse(first?.type === 'text' ? first.text : '{}') as McpReply;
}
