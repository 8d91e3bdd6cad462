import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lineageTable } from '../../core/views/index.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { runDemoAgent } from '../demo/agent.js';
import { type DemoProcess, type DemoServer, endProcess, logFolder, startDemoServer } from '../demo/fleet.js';
import type { Guarantee } from '../demo/guarantees.js';
import { storyLine } from '../demo/narrator.js';
import { DEMO_PROJECT } from '../demo/plan.js';
import { type DemoOutcome, runDemo } from '../demo/run-demo.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { parseWholeNumber } from '../option-parsers.js';
import { lineageText } from '../output/lineage.js';

interface DemoOptions {
  readonly agents: number;
  readonly keep?: true;
}

/** At least three: the demo kills one agent and freezes another, and one must finish the work. */
const AGENT_COUNT = { least: 3, most: 50, usual: 6 };

export const addDemo: AddCommands = (program, wrapAction) => {
  program
    .command('demo')
    .description(
      'a fleet on a sample plan, before your eyes: one agent is killed, one comes back as a zombie',
    )
    .option('--agents <n>', 'how many agents, each a process of its own', parseWholeNumber, AGENT_COUNT.usual)
    .option('--keep', 'leave the server running and its data in place')
    .action(wrapAction(demo));
  program.command('demo-agent', { hidden: true }).action(wrapAction(() => runDemoAgent()));
};

async function demo(context: CommandContext, options: DemoOptions): Promise<void> {
  if (options.agents < AGENT_COUNT.least || options.agents > AGENT_COUNT.most) {
    throw wrongUsage(`--agents: expected ${AGENT_COUNT.least} to ${AGENT_COUNT.most}.`);
  }
  const folder = await mkdtemp(join(tmpdir(), 'genesis-demo-'));
  const stopController = new AbortController();
  const removeStopListener = context.io.onStop(() => stopController.abort());
  const agents: DemoProcess[] = [];
  let server: DemoServer | null = null;
  let isKept = false;
  try {
    server = await startDemoServer(folder);
    printCommentary(context, introText(server, folder, options.agents));
    const outcome = await runDemo({
      url: server.url,
      folder,
      agents_count: options.agents,
      agents,
      signal: stopController.signal,
      onEvent: (event) => {
        const line = storyLine(event, context.paint);
        if (context.is_json) context.printJson(event);
        else if (line !== null) context.print(line);
      },
      onNarration: (line) => printCommentary(context, context.paint.magenta(`              ${line}`)),
    });
    if (stopController.signal.aborted) throw new CommandFailure('The demo was stopped.');
    context.show(outcome, () => summaryText(context, outcome));
    if (!outcome.guarantees.every(({ holds }) => holds)) context.exit_code = EXIT.refused;
    isKept = options.keep === true;
    printCommentary(context, isKept ? keptServerText(server, folder) : NEXT_STEPS);
  } finally {
    removeStopListener();
    for (const agent of agents) await endProcess(agent);
    if (server !== null) await (isKept ? detachServer(server) : endProcess(server, 'SIGTERM'));
    if (!isKept) await rm(folder, { recursive: true, force: true });
  }
}

/** Prints text that is not part of the event stream. With `--json` it goes to standard error. */
const printCommentary = (context: CommandContext, text: string): void =>
  context.is_json ? context.printNotice(text) : context.print(text);

const introText = ({ url }: DemoServer, folder: string, agents: number): string =>
  [
    `${agents} agents work through a plan. One will be killed in the middle of its work, one frozen past its lease.`,
    `The coordinator listens at ${url} (a browser shows it live); its log is in ${logFolder(folder)}`,
    '',
  ].join('\n');

const NEXT_STEPS = `
What now? Connect an agent of your own (README.md, “Connect an agent”), or look around in what this leaves behind:
npm run demo -- --keep (or gen demo --keep).`;

function summaryText(context: CommandContext, { guarantees, lineage, log }: DemoOutcome): string {
  const { paint } = context;
  const lineageSection = lineage === null ? '' : lineageText(lineage, lineageTable(lineage), context);
  const verdict = log.breaks.length === 0 ? paint.green('sound') : paint.red('BROKEN');
  return [
    '',
    ...(lineage === null ? [] : [lineageSection, '']),
    `${paint.bold('gen verify')}: ${verdict}, ${log.events} events on ${log.subjects} subjects`,
    '',
    ...guarantees.map((guarantee) => guaranteeLine(context, guarantee)),
  ].join('\n');
}

function guaranteeLine({ paint }: CommandContext, { says, holds, seen }: Guarantee): string {
  return `${holds ? paint.green('✓') : paint.red('✗')} ${says}  ${paint.dim(`(${seen})`)}`;
}

const keptServerText = ({ url, process }: DemoServer, folder: string): string =>
  [
    '',
    `The server goes on at ${url} (stop it with: kill ${process.pid}); its data is in ${folder}`,
    'Look around:',
    `  ${url}/?project=${DEMO_PROJECT} in a browser`,
    `  gen --url ${url} --project ${DEMO_PROJECT} status`,
    `  gen --url ${url} --project ${DEMO_PROJECT} events`,
    `  gen verify ${logFolder(folder)}`,
  ].join('\n');

async function detachServer({ process: child }: DemoServer): Promise<void> {
  child.stdout?.destroy();
  child.unref();
}
