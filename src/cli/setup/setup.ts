import { join, relative } from 'node:path';
import { Argument, Option } from 'commander';
import { Workspace } from '../../workspace/workspace.js';
import type { AddCommands } from '../command.js';
import type { CommandContext } from '../context.js';
import type { Io } from '../io.js';
import { isSelfOnPath, selfCommand } from '../self.js';
import { JsonRecordFolder, recordName } from '../state/json-record-folder.js';
import { osHomeFolder, userFolder } from '../state/user-folder.js';
import {
  type ConfigSection,
  type FileChange,
  planSection,
  removeFolders,
  removeSection,
  type WrittenFile,
  writePlanned,
} from './apply.js';
import { checkSetup } from './check.js';
import {
  CLIENT_SECTIONS,
  CLIENTS,
  type ClientName,
  SCOPES,
  type Scope,
  type SetupEnvironment,
} from './clients.js';
import { trustAdviceFor } from './folder-trust.js';

export const setupCommand: AddCommands = (program, wrapAction) => {
  program
    .command('setup')
    .description('configure a coding agent: write its MCP server, permissions, hooks and instructions')
    .addArgument(new Argument('<client>', 'coding agent').choices(CLIENTS))
    .addOption(
      new Option('--scope <scope>', 'configure this folder, or all folders of the user')
        .choices(SCOPES)
        .default('project'),
    )
    .option('--undo', 'remove what setup wrote')
    .addOption(
      new Option(
        '--check',
        'write nothing: connect as the client would, and report what is missing',
      ).conflicts('undo'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gen setup claude --project shop\n  gen setup codex --scope user\n  gen setup claude --check\n  gen setup gemini --undo',
    )
    .action(wrapAction(setup));
};

/** What setup wrote for one client in one folder, or for the user. Receipts are in the user's folder, outside any project. */
interface Receipt {
  readonly client: string;
  readonly written: readonly WrittenFile[];
}

async function setup(
  context: CommandContext,
  client: ClientName,
  { scope, undo, check }: { scope: Scope; undo?: true; check?: true },
): Promise<void> {
  const { io } = context;
  const commandLine = `gen setup ${client}${scope === 'user' ? ' --scope user' : ''}`;
  if (check) {
    const environment = setupEnvironment(io, scope, []);
    const trustAdvice = await trustAdviceFor(client, environment);
    const sections = CLIENT_SECTIONS[client](environment);
    return checkSetup(context, sections, (path) => displayPath(io, path), commandLine, trustAdvice);
  }
  const receipts = new JsonRecordFolder<Receipt>(join(userFolder(io), 'setup'));
  const name = recordName(client, scope === 'user' ? osHomeFolder(io) : io.cwd);
  const ownWrites = (await receipts.get(name))?.written ?? [];
  const allWritten = async () => (await receipts.all()).flatMap(({ written }) => written);
  if (undo) {
    await receipts.remove(name);
    const sections = CLIENT_SECTIONS[client](setupEnvironment(io, scope, []));
    return undoSetup(context, sections, ownWrites, await allWritten());
  }
  const { url, tenant, project } = await context.target();
  // In a workspace the client works on the log of the workspace, or on the server that has this log open.
  const isOwnLog = scope === 'project' && context.explicitUrl === null && Workspace.find(io.cwd) !== null;
  const options = [...(isOwnLog ? [] : ['--url', url]), '--tenant', tenant, '--project', project];
  const environment = setupEnvironment(io, scope, options);
  const sections = CLIENT_SECTIONS[client](environment);
  const earlierWrites = [...ownWrites, ...(await allWritten())];
  const planned = await Promise.all(sections.map((part) => planSection(part, earlierWrites)));
  const written: WrittenFile[] = [];
  const changes: ChangeReport[] = [];
  for (const plan of planned) {
    const [change, writtenFile] = await writePlanned(plan);
    written.push(writtenFile);
    changes.push({ change, path: displayPath(io, plan.path), about: `: ${plan.about}` });
  }
  await receipts.put(name, { client, written });
  const trustAdvice = await trustAdviceFor(client, environment);
  const where = isOwnLog ? 'in the log of this workspace' : `at ${url}`;
  printChanges(context, changes, [
    `${CLIENT_NAMES[client]} connects to ${project} ${where} at its next start.`,
    ...(trustAdvice === null ? [] : [trustAdvice]),
    `To check it: ${commandLine} --check`,
    `To undo: ${commandLine} --undo`,
  ]);
}

/** Removes the sections, except from files that another client uses too. */
async function undoSetup(
  context: CommandContext,
  sections: readonly ConfigSection[],
  ownWrites: readonly WrittenFile[],
  otherWrites: readonly WrittenFile[],
): Promise<void> {
  const changes: ChangeReport[] = [];
  for (const section of sections) {
    const isShared = otherWrites.some(({ path }) => path === section.path);
    const change = isShared ? 'unchanged' : await removeSection(section, ownWrites);
    const about = isShared ? ', used by another client' : '';
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
  closing: readonly string[] = [],
): void {
  const lines = changes.map(({ change, path, about }) => `${CHANGE_LABELS[change]} ${path}${about}`);
  const reply = { changes: changes.map(({ change, path }) => ({ change, path })) };
  context.printReply(reply, () => [...lines, ...closing]);
}

const CHANGE_LABELS: Readonly<Record<FileChange, string>> = {
  wrote: 'wrote    ',
  unchanged: 'unchanged',
  removed: 'removed  ',
  restored: 'restored ',
  section_removed: 'removed our section from',
};
const CLIENT_NAMES: Readonly<Record<ClientName, string>> = {
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
};

function setupEnvironment(io: Io, scope: Scope, options: readonly string[]): SetupEnvironment {
  const home = osHomeFolder(io);
  return {
    scope,
    folder: io.cwd,
    home,
    codex_home: io.env.CODEX_HOME ?? join(home, '.codex'),
    platform: process.platform,
    gen: isSelfOnPath('gen', io.env.PATH) ? ['gen'] : selfCommand(),
    options,
    has_token: (io.env.GENESIS_TOKEN ?? '') !== '',
  };
}

function displayPath(io: Io, path: string): string {
  const relativePath = relative(io.cwd, path);
  return relativePath.startsWith('..') ? path : relativePath;
}
