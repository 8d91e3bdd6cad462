import { join, relative } from 'node:path';
import { Argument, Option } from 'commander';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import type { Io } from '../io.js';
import { selfCommand, startsSelf } from '../self.js';
import { homeOf } from '../user-folder.js';
import {
  type FileChange,
  planSection,
  removeFolders,
  removeSection,
  type WrittenFile,
  writePlanned,
} from './apply.js';
import {
  CLIENT_SECTIONS,
  CLIENTS,
  type ClientName,
  SCOPES,
  type Scope,
  type SetupEnvironment,
} from './clients.js';
import { Receipts } from './receipts.js';

interface SetupOptions {
  readonly scope: Scope;
  readonly undo?: true;
}

export const addSetup: AddCommands = (program, wrapAction) => {
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
    .action(wrapAction(setup));
};

async function setup(
  context: CommandContext,
  client: ClientName,
  { scope, undo }: SetupOptions,
): Promise<void> {
  const { io } = context;
  const receipts = new Receipts(io, client, scope === 'user' ? homeOf(io) : io.cwd);
  if (undo) return undoSetup(context, client, await setupEnvironment(io, scope, []), receipts);
  const { url, tenant, project } = await context.target();
  const options = ['--url', url, '--tenant', tenant, '--project', project];
  const sections = CLIENT_SECTIONS[client](await setupEnvironment(io, scope, options));
  const known = [...(await receipts.own()), ...(await receipts.all())];
  const planned = await Promise.all(sections.map((part) => planSection(part, known)));
  const written: WrittenFile[] = [];
  const changes: ChangeReport[] = [];
  for (const plan of planned) {
    const [change, now] = await writePlanned(plan);
    written.push(now);
    changes.push({ change, path: displayPath(io, plan.path), about: `: ${plan.about}` });
  }
  await receipts.save({ client, written });
  printChanges(
    context,
    changes,
    `${CLIENT_NAMES[client]} finds the work of ${project} when it is started next. Take back: gen setup ${client} --undo`,
  );
}

async function undoSetup(
  context: CommandContext,
  client: ClientName,
  environment: SetupEnvironment,
  receipts: Receipts,
): Promise<void> {
  const ownWrites = await receipts.own();
  await receipts.remove();
  const others = await receipts.all();
  const changes: ChangeReport[] = [];
  for (const section of CLIENT_SECTIONS[client](environment)) {
    const isShared = others.some(({ path }) => path === section.path);
    const change = isShared ? 'left' : await removeSection(section, ownWrites);
    const about = isShared ? ', which another client uses' : '';
    changes.push({ change, path: displayPath(context.io, section.path), about });
  }
  await removeFolders(ownWrites);
  printChanges(context, changes);
}

interface ChangeReport {
  readonly change: FileChange;
  readonly path: string;
  /** The text after the path. */
  readonly about: string;
}

function printChanges(
  context: CommandContext,
  changes: readonly ChangeReport[],
  ...closingLines: readonly string[]
): void {
  const lines = changes.map(({ change, path, about }) => `${CHANGE_LABELS[change]} ${path}${about}`);
  const reply = { changes: changes.map(({ change, path }) => ({ change, path })) };
  context.show(reply, () => [...lines, ...closingLines].join('\n'));
}

const CHANGE_LABELS: Readonly<Record<FileChange, string>> = {
  wrote: 'wrote   ',
  left: 'as it was',
  removed: 'removed ',
  restored: 'restored',
};
const CLIENT_NAMES: Readonly<Record<ClientName, string>> = {
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
};

async function setupEnvironment(io: Io, scope: Scope, options: readonly string[]): Promise<SetupEnvironment> {
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

function displayPath(io: Io, path: string): string {
  const relativePath = relative(io.cwd, path);
  return relativePath.startsWith('..') ? path : relativePath;
}
