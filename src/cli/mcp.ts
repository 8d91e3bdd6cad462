import { randomBytes } from 'node:crypto';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { mcpServer } from '../server/mcp/mcp-server.js';
import type { AddCommands } from './act.js';
import type { Context } from './context.js';
import { KeepingFleet } from './mcp/keeping-fleet.js';
import { SdkFleet } from './mcp/sdk-fleet.js';
import { StrictLines } from './mcp/strict-lines.js';

export const registerMcp: AddCommands = (program, act) => {
  program
    .command('mcp')
    .description('speak MCP on standard input and output; renew what was taken here while the client lives')
    .addHelpText('after', '\nA client starts it. To configure one: gen setup claude|codex|gemini')
    .action(act(mcp));
};

/** Lives as long as its client: until standard input ends, or somebody asks to stop. */
async function mcp(context: Context): Promise<void> {
  const { io } = context;
  const fleet = new KeepingFleet(new SdkFleet(await context.genesis()));
  const identity = {
    agent_id: await context.agent(),
    session_id: context.named_session ?? `mcp-${randomBytes(8).toString('hex')}`,
  };
  const messages = io.stdin.pipe(new StrictLines((line) => io.stdout.write(line)));
  const transport = new StdioServerTransport(messages, io.stdout);
  const served = serveStdio(() => mcpServer({ fleet, identity, may: () => true }), {
    transport,
    onerror: (error) => context.remark(error.message),
  });
  await new Promise<void>((resolve) => {
    io.stdin.once('end', resolve).once('close', resolve);
    const stopListening = io.onStop(() => {
      stopListening();
      resolve();
    });
  });
  fleet.stop();
  await served.close();
}
