import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadStream } from 'node:tty';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { lineageTable } from '../../core/views/index.js';
import { combineCommands, defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { runDemoAgent } from '../demo/agent.js';
import { type DemoProcess, type DemoServer, endProcess, logFolder, startDemoServer } from '../demo/fleet.js';
import { narrationLine } from '../demo/narrator.js';
import { DEMO_PROJECT } from '../demo/plan.js';
import { type DemoReport, runDemo } from '../demo/run-demo.js';
import { AUTO_START_SECONDS, waitForEnter } from '../demo/wait-for-enter.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { parseWholeNumber } from '../option-parsers.js';
import { lineageText } from '../output/lineage.js';
import { abortOnStop } from '../stop.js';

/** Numbers of agents. At least three: the demo kills one agent and freezes another, and one must finish the work. */
const AGENT_COUNT = { min: 3, max: 50, default: 6 };

const demo = defineCommand('demo', {
  description: 'run a fleet on a sample plan: one agent is killed, another is frozen past its lease',
  options: {
    '--agents <n>': {
      about: 'number of agents, each in its own process',
      parse: parseWholeNumber,
      default: AGENT_COUNT.default,
    },
    '--keep': 'keep the server running afterwards, and keep its data',
  },
  async run(context, { agents: agentCount, keep }) {
    if (agentCount < AGENT_COUNT.min || agentCount > AGENT_COUNT.max) {
      throw wrongUsage(`--agents: expected a number from ${AGENT_COUNT.min} to ${AGENT_COUNT.max}.`);
    }
    const folder = await mkdtemp(join(tmpdir(), 'genesis-demo-'));
    const { signal, end } = abortOnStop(context.io);
    const agents: DemoProcess[] = [];
    let server: DemoServer | null = null;
    let isKept = false;
    try {
      server = await startDemoServer(folder);
      const { url } = server;
      printCommentary(context, introText(server, folder, agentCount));
      const onEvent = (event: EventEnvelope) => {
        const line = narrationLine(event, context.paint);
        if (context.is_json) context.printJson(event);
        else if (line !== null) context.print(line);
      };
      const onNarration = (line: string) =>
        printCommentary(context, context.paint.magenta(`              ${line}`));
      const onReady = async () => {
        // With --keep, a person at the terminal wants to see the page.
        if (keep !== true || (context.io.stdin as ReadStream).isTTY !== true) return;
        printCommentary(context, START_PROMPT);
        await waitForEnter(context.io.stdin, signal);
      };
      const outcome = await runDemo({
        url,
        folder,
        agentCount,
        agents,
        signal,
        onReady,
        onEvent,
        onNarration,
      });
      if (signal.aborted) throw new CommandFailure('The demo was stopped.');
      context.printReply(outcome, () => summaryText(context, outcome));
      if (!outcome.guarantees.every(({ holds }) => holds)) context.exit_code = EXIT.refused;
      isKept = keep === true;
      printCommentary(context, isKept ? keptServerText(server, folder) : NEXT_STEPS);
    } finally {
      end();
      for (const agent of agents) await endProcess(agent);
      if (server !== null) await (isKept ? detachServer(server) : endProcess(server, 'SIGTERM'));
      if (!isKept) await rm(folder, { recursive: true, force: true });
    }
  },
});

const demoAgent = defineCommand('demo-agent', { description: '', hidden: true, run: () => runDemoAgent() });

export const demoCommands = combineCommands(demo, demoAgent);

/** Prints text that is not part of the event stream. With `--json` it goes to standard error. */
const printCommentary = (context: CommandContext, text: string): void =>
  context.is_json ? context.printNotice(text) : context.print(text);

const introText = ({ url }: DemoServer, folder: string, agents: number): string =>
  [
    `${agents} agents work through a plan. One is killed in the middle of a task, one is frozen past its lease.`,
    `The page shows it live: ${pageUrl(url)}`,
    `Log: ${logFolder(folder)}`,
    '',
  ].join('\n');

const pageUrl = (url: string): string => `${url}/?project=${DEMO_PROJECT}`;

const START_PROMPT = `Open the page, then press Enter to start the agents. They start in ${AUTO_START_SECONDS} seconds otherwise.\n`;

const NEXT_STEPS = `
Next: connect your own agent (README.md, “Connect an agent”), or keep the server and its data for inspection:
npm run demo -- --keep (or gen demo --keep).`;

function summaryText(context: CommandContext, { guarantees, lineage, log }: DemoReport): string {
  const { paint } = context;
  const verdict = log.breaks.length === 0 ? paint.green('valid') : paint.red('BROKEN');
  return [
    '',
    ...(lineage === null ? [] : [lineageText(lineage, lineageTable(lineage), context), '']),
    `${paint.bold('gen verify')}: ${verdict}, ${log.events} events on ${log.subjects} subjects`,
    '',
    ...guarantees.map(
      ({ says, holds, seen }) =>
        `${holds ? paint.green('✓') : paint.red('✗')} ${says}  ${paint.dim(`(${seen})`)}`,
    ),
  ].join('\n');
}

const keptServerText = ({ url, process }: DemoServer, folder: string): string =>
  [
    '',
    `The server keeps running at ${url} (to stop it: kill ${process.pid}). Its data is in ${folder}`,
    'Inspect it:',
    `  ${pageUrl(url)} in a browser: who did what, and what was refused`,
    `  gen --url ${url} --project ${DEMO_PROJECT} status`,
    `  gen --url ${url} --project ${DEMO_PROJECT} events`,
    `  gen verify ${logFolder(folder)}`,
  ].join('\n');

async function detachServer({ process: child }: DemoServer): Promise<void> {
  child.stdout?.destroy();
  child.unref();
}
