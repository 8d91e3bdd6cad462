import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { workerName } from '../client/worker-name.js';
import { createMcpServer } from '../server/mcp/mcp-server.js';
import { Workspace } from '../workspace/workspace.js';
import { defineCommand } from './command.js';
import { AutoRenewingClient, RENEW_FOR_SECONDS } from './mcp/auto-renewing-client.js';
import { StrictJsonLines } from './mcp/strict-json-lines.js';
import { workspaceDrafts } from './mcp/workspace-drafts.js';
import { parseSecondsOption } from './option-parsers.js';
import { abortOnStop } from './stop.js';

/** Serves MCP on standard input and output until the input ends or a stop signal arrives. */
export const mcpCommand = defineCommand('mcp', {
  description: 'serve MCP on standard input and output, and renew the claims made here (see --renew-for)',
  options: {
    '--renew-for <seconds>': {
      about: 'how long to renew claims after the last call, in seconds or as 90s, 5m, 2h',
      parse: parseSecondsOption,
      default: RENEW_FOR_SECONDS,
    },
  },
  help: '\nMCP clients start this command. To configure one: gen setup claude|codex|gemini',
  async run(context, { renewFor }) {
    const { io } = context;
    const client = new AutoRenewingClient(await context.clientOptions(), renewFor);
    const identity = {
      agent_id: (await context.fixedAgent()) ?? undefined,
      session_id: context.explicitSession ?? `mcp-${randomBytes(8).toString('hex')}`,
    };
    const drafts = Workspace.findOwn(io.cwd, io.env) === null ? null : workspaceDrafts(context, client);
    const messages = io.stdin.pipe(new StrictJsonLines((line) => io.stdout.write(line)));
    const transport = new StdioServerTransport(messages, io.stdout);
    const mcpServer = serveStdio(
      () =>
        createMcpServer({
          client,
          identity,
          nameAgent: workerName,
          isAllowed: () => true,
          drafts,
          onCall: () => client.recordCall(),
        }),
      {
        transport,
        onerror: (error) => context.printNotice(error.message),
      },
    );
    const stop = abortOnStop(io);
    io.stdin.once('end', stop.end).once('close', stop.end);
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
    stop.end();
    client.stop();
    await mcpServer.close();
  },
});
