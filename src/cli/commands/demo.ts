import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lineageTable } from '../../core/views/index.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { runDemoAgent } from '../demo/agent.js';
import { type DemoServer, end, logFolder, type Running, startDemoServer } from '../demo/fleet.js';
import type { Guarantee } from '../demo/guarantees.js';
import { storyLine } from '../demo/narrator.js';
import { DEMO_PROJECT } from '../demo/plan.js';
import { type DemoOutcome, runDemo } from '../demo/run-demo.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { lineageText } from '../output/lineage.js';
import { wholeNumber } from '../read-options.js';

interface DemoOptions {
  readonly agents: number;
  readonly keep?: true;
}

/** One is killed, one is frozen, and somebody must be left to do the work. */
const AGENTS = { least: 3, most: 50, usual: 6 };

export const addDemo: AddCommands = (program, act) => {
  program
    .command('demo')
    .description(
      'a fleet on a sample plan, before your eyes: one agent is killed, one comes back as a zombie',
    )
    .option('--agents <n>', 'how many agents, each a process of its own', wholeNumber, AGENTS.usual)
    .option('--keep', 'leave the server running and its data in place')
    .action(act(demo));
  program.command('demo-agent', { hidden: true }).action(act(() => runDemoAgent()));
};

async function demo(context: Context, options: DemoOptions): Promise<void> {
  if (options.agents < AGENTS.least || options.agents > AGENTS.most) {
    throw wrongUsage(`--agents: expected ${AGENTS.least} to ${AGENTS.most}.`);
  }
  const folder = await mkdtemp(join(tmpdir(), 'genesis-demo-'));
  const stopping = new AbortController();
  const unlisten = context.io.onStop(() => stopping.abort());
  const agents: Running[] = [];
  let server: DemoServer | null = null;
  let kept = false;
  try {
    server = await startDemoServer(folder);
    aside(context, opening(server, folder, options.agents));
    const outcome = await runDemo({
      url: server.url,
      folder,
      agents_count: options.agents,
      agents,
      signal: stopping.signal,
      tell: (event) => {
        const line = storyLine(event, context.paint);
        if (context.is_json) context.printJson(event);
        else if (line !== null) context.print(line);
      },
      say: (line) => aside(context, context.paint.magenta(`              ${line}`)),
    });
    if (stopping.signal.aborted) throw new CommandFailure('The demo was stopped.');
    context.show(outcome, () => ending(context, outcome));
    if (!outcome.guarantees.every(({ holds }) => holds)) context.exit_code = EXIT.refused;
    kept = options.keep === true;
    aside(context, kept ? whereItIs(server, folder) : WHAT_NOW);
  } finally {
    unlisten();
    for (const agent of agents) await end(agent);
    if (server !== null) await (kept ? leave(server) : end(server, 'SIGTERM'));
    if (!kept) await rm(folder, { recursive: true, force: true });
  }
}

/** What surrounds the story; where that is JSON, beside it. */
const aside = (context: Context, text: string): void =>
  context.is_json ? context.remark(text) : context.print(text);

const opening = ({ url }: DemoServer, folder: string, agents: number): string =>
  [
    `${agents} agents work through a plan. One will be killed in the middle of its work, one frozen past its lease.`,
    `The coordinator listens at ${url} (a browser shows it live); its log is in ${logFolder(folder)}`,
    '',
  ].join('\n');

const WHAT_NOW = `
What now? Join an agent of your own (README.md, “Join an agent”), or look around in what this leaves behind:
npm run demo -- --keep (or gen demo --keep).`;

function ending(context: Context, { guarantees, lineage, log }: DemoOutcome): string {
  const { paint } = context;
  const told = lineage === null ? '' : lineageText(lineage, lineageTable(lineage), context);
  const verdict = log.breaks.length === 0 ? paint.green('sound') : paint.red('BROKEN');
  return [
    '',
    ...(lineage === null ? [] : [told, '']),
    `${paint.bold('gen verify')}: ${verdict}, ${log.events} events on ${log.subjects} subjects`,
    '',
    ...guarantees.map((guarantee) => guaranteeLine(context, guarantee)),
  ].join('\n');
}

function guaranteeLine({ paint }: Context, { says, holds, seen }: Guarantee): string {
  return `${holds ? paint.green('✓') : paint.red('✗')} ${says}  ${paint.dim(`(${seen})`)}`;
}

const whereItIs = ({ url, process }: DemoServer, folder: string): string =>
  [
    '',
    `The server goes on at ${url} (stop it with: kill ${process.pid}); its data is in ${folder}`,
    'Look around:',
    `  ${url}/?project=${DEMO_PROJECT} in a browser`,
    `  gen --url ${url} --project ${DEMO_PROJECT} status`,
    `  gen --url ${url} --project ${DEMO_PROJECT} events`,
    `  gen verify ${logFolder(folder)}`,
  ].join('\n');

async function leave({ process: child }: DemoServer): Promise<void> {
  child.stdout?.destroy();
  child.unref();
}
