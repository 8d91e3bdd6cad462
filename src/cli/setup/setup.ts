import { join, relative } from 'node:path';
import { Argument, Option } from 'commander';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import type { Io } from '../io.js';
import { selfCommand, startsSelf } from '../self.js';
import { homeOf } from '../user-folder.js';
import { type Change, planPart, removeFolders, takePart, type Written, writePlanned } from './apply.js';
import { CLIENTS, type ClientName, PARTS, SCOPES, type Scope, type Surroundings } from './clients.js';
import { Receipts } from './receipts.js';

interface SetupOptions {
  readonly scope: Scope;
  readonly undo?: true;
}

export const registerSetup: AddCommands = (program, act) => {
  program
    .command('setup')
    .description('let a coding agent join: writes its MCP configuration, hooks and a section of AGENTS.md')
    .addArgument(new Argument('<client>', 'which one').choices(CLIENTS))
    .addOption(
      new Option('--scope <scope>', 'for this folder, or for all you do').choices(SCOPES).default('project'),
    )
    .option('--undo', 'take back what was written')
    .addHelpText(
      'after',
      '\nExamples:\n  gen setup claude --project shop\n  gen setup codex --scope user\n  gen setup gemini --undo',
    )
    .action(act(setup));
};

async function setup(context: Context, client: ClientName, { scope, undo }: SetupOptions): Promise<void> {
  const { io } = context;
  const receipts = new Receipts(io, client, scope === 'user' ? homeOf(io) : io.cwd);
  if (undo) return takeBack(context, client, await surroundings(io, scope, []), receipts);
  const { url, tenant, project } = await context.place();
  const options = ['--url', url, '--tenant', tenant, '--project', project];
  const parts = PARTS[client](await surroundings(io, scope, options));
  const known = [...(await receipts.ours()), ...(await receipts.all())];
  const planned = await Promise.all(parts.map((part) => planPart(part, known)));
  const written: Written[] = [];
  const changes: Told[] = [];
  for (const plan of planned) {
    const [change, now] = await writePlanned(plan);
    written.push(now);
    changes.push({ change, path: shown(io, plan.path), about: `: ${plan.about}` });
  }
  await receipts.keep({ client, written });
  tell(
    context,
    changes,
    `${NAMES[client]} finds the work of ${project} when it is started next. Take back: gen setup ${client} --undo`,
  );
}

async function takeBack(
  context: Context,
  client: ClientName,
  around: Surroundings,
  receipts: Receipts,
): Promise<void> {
  const ours = await receipts.ours();
  await receipts.forget();
  const others = await receipts.all();
  const changes: Told[] = [];
  for (const part of PARTS[client](around)) {
    const isShared = others.some(({ path }) => path === part.path);
    const change = isShared ? 'left' : await takePart(part, ours);
    const about = isShared ? ', which another client uses' : '';
    changes.push({ change, path: shown(context.io, part.path), about });
  }
  await removeFolders(ours);
  tell(context, changes);
}

interface Told {
  readonly change: Change;
  readonly path: string;
  /** As it goes on after the path. */
  readonly about: string;
}

function tell(context: Context, changes: readonly Told[], ...more: readonly string[]): void {
  const lines = changes.map(({ change, path, about }) => `${SAYS[change]} ${path}${about}`);
  const reply = { changes: changes.map(({ change, path }) => ({ change, path })) };
  context.show(reply, () => [...lines, ...more].join('\n'));
}

const SAYS: Readonly<Record<Change, string>> = {
  wrote: 'wrote   ',
  left: 'as it was',
  removed: 'removed ',
  restored: 'restored',
};
const NAMES: Readonly<Record<ClientName, string>> = {
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
};

async function surroundings(io: Io, scope: Scope, options: readonly string[]): Promise<Surroundings> {
  const home = homeOf(io);
  return {
    scope,
    folder: io.cwd,
    home,
    codex_home: io.env.CODEX_HOME ?? join(home, '.codex'),
    platform: process.platform,
    gen: startsSelf('gen', io.env.PATH) ? ['gen'] : selfCommand(),
    options,
    has_token: (io.env.GENESIS_TOKEN ?? '') !== '',
  };
}

function shown(io: Io, path: string): string {
  const near = relative(io.cwd, path);
  return near.startsWith('..') ? path : near;
}
