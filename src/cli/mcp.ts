import { randomBytes } from 'node:crypto';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { createMcpServer } from '../server/mcp/mcp-server.js';
import type { AddCommands } from './command-action.js';
import type { CommandContext } from './context.js';
import { AutoRenewingFleet } from './mcp/auto-renewing-fleet.js';
import { SdkFleet } from './mcp/sdk-fleet.js';
import { StrictJsonLines } from './mcp/strict-json-lines.js';

export const addMcp: AddCommands = (program, wrapAction) => {
  program
    .command('mcp')
    .description('speak MCP on standard input and output; renew what was taken here while the client lives')
    .addHelpText('after', '\nA client starts it. To configure one: gen setup claude|codex|gemini')
    .action(wrapAction(mcp));
};

/** Serves MCP on standard input and output until the input ends or a stop signal arrives. */
async function mcp(context: CommandContext): Promise<void> {
  const { io } = context;
  const fleet = new AutoRenewingFleet(new SdkFleet(await context.genesis()));
  const identity = {
    agent_id: await context.agent(),
    session_id: context.explicitSession ?? `mcp-${randomBytes(8).toString('hex')}`,
  };
  const messages = io.stdin.pipe(new StrictJsonLines((line) => io.stdout.write(line)));
  const transport = new StdioServerTransport(messages, io.stdout);
  const served = serveStdio(() => createMcpServer({ backend: fleet, identity, isAllowed: () => true }), {
    transport,
    onerror: (error) => context.printNotice(error.message),
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
