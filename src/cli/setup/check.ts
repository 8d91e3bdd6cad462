import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import { countText } from '../output/text.js';
import { type ConfigSection, readTextOrNull } from './apply.js';
import { MCP_SERVER_NAME } from './clients.js';
import { configuredServer } from './configured-server.js';
import { performHandshake } from './handshake.js';
import { connectTo } from './mcp-connection.js';

interface SetupState {
  readonly state: 'ok' | 'missing' | 'failed';
  readonly what: string;
}

/** Reports missing parts of the configuration, and whether its MCP server works. Exit code 1 if anything is wrong. */
export async function checkSetup(
  context: CommandContext,
  sections: readonly ConfigSection[],
  displayPath: (path: string) => string,
  setupCommand: string,
  trustAdvice: string | null,
): Promise<void> {
  const states: SetupState[] = [];
  for (const section of sections) {
    const text = await readTextOrNull(section.path);
    const state = text !== null && section.has(text) ? 'ok' : 'missing';
    states.push({ state, what: `${displayPath(section.path)}: ${section.about}` });
  }
  if (trustAdvice !== null) states.push({ state: 'failed', what: `trust: ${trustAdvice}` });
  states.push(...(await checkServer(context, sections)));
  const isComplete = states.every(({ state }) => state === 'ok');
  if (!isComplete) context.exit_code = EXIT.refused;
  const advice = states.some(({ state }) => state === 'missing')
    ? [`Write what is missing: ${setupCommand}`]
    : [];
  context.printReply({ complete: isComplete, findings: states }, () => [
    ...states.map(({ state, what }) => `${state.padEnd('missing'.length)} ${what}`),
    ...advice,
  ]);
}

/** Checks the MCP server, which is in the first section of every client's configuration. */
async function checkServer(
  { io }: CommandContext,
  [section]: readonly ConfigSection[],
): Promise<readonly SetupState[]> {
  const text = section === undefined ? null : await readTextOrNull(section.path);
  const server = section && text !== null ? configuredServer(section.path, text, MCP_SERVER_NAME) : null;
  if (server === null) return [{ state: 'missing', what: 'handshake: no MCP server is configured' }];
  const name = server.url ?? [server.command, ...(server.args ?? [])].join(' ');
  const connection = connectTo(io, server);
  try {
    const { tools, problem } = await performHandshake(connection);
    const listed: SetupState = {
      state: 'ok',
      what: `handshake: ${countText(tools.length, 'tool')} from ${name}`,
    };
    return problem === null
      ? [listed, { state: 'ok', what: 'status: the project can be read' }]
      : [listed, { state: 'failed', what: `status: ${problem}` }];
  } catch (error) {
    return [{ state: 'failed', what: `handshake with ${name}: ${(error as Error).message}` }];
  } finally {
    connection.close();
  }
}
