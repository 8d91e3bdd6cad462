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
    context.print(`The coordinator listens at ${server.url}, its log is in ${logFolder(folder)}`);
    const outcome = await runDemo({
      url: server.url,
      folder,
      agents_count: options.agents,
      agents,
      signal: stopping.signal,
      tell: (event) => {
        const line = storyLine(event, context.paint);
        if (line !== null) context.print(line);
      },
      say: (line) => context.print(context.paint.magenta(`              ${line}`)),
    });
    if (stopping.signal.aborted) throw new CommandFailure('The demo was stopped.');
    context.print(ending(context, outcome));
    if (!outcome.guarantees.every(({ holds }) => holds)) context.exit_code = EXIT.refused;
    kept = options.keep === true;
    if (kept) context.print(whereItIs(server, folder));
  } finally {
    unlisten();
    for (const agent of agents) await end(agent);
    if (server !== null) await (kept ? leave(server) : end(server, 'SIGTERM'));
    if (!kept) await rm(folder, { recursive: true, force: true });
  }
}

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
    `Look around: gen --url ${url} --project corner-shop status`,
  ].join('\n');

async function leave({ process }: DemoServer): Promise<void> {
  process.stdout?.destroy();
  process.unref();
}
