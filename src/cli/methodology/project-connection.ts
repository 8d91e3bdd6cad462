import { type Caller, OPEN_CALLER } from '../../coordinator/authentication/caller.js';
import type { ProjectStatus } from '../../core/views/index.js';
import type { ServerAddress } from '../../workspace/address.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { type CommandFailure, noWorkspace, wrongUsage } from '../exit.js';
import { singleLine } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { throwUserError } from '../user-errors.js';
import type { ProjectCalls, ReadOnlyCalls } from './calls.js';
import type { OpenedProject } from './in-process.js';
import { statusIfPlanned } from './status-if-planned.js';

/** A methodology command's connection to its project. */
export interface ProjectConnection<C = ProjectCalls> {
  readonly calls: C;
  /** The workspace that contains the current folder; null if the project exists only on a server. */
  readonly workspace: Workspace | null;
  readonly title: string;
  /** The plan's status; null if the project has no plan. */
  plan(): Promise<ProjectStatus | null>;
}

/**
 * Runs a command on its project: at the given server, or on the workspace's own log. Read mode never locks the log,
 * so it works while another process writes it.
 */
export function withMethodology(
  context: CommandContext,
  mode: 'read',
  work: (connection: ProjectConnection<ReadOnlyCalls>) => Promise<void>,
): Promise<void>;
export function withMethodology(
  context: CommandContext,
  mode: 'read' | 'write',
  work: (connection: ProjectConnection) => Promise<void>,
): Promise<void>;
export async function withMethodology(
  context: CommandContext,
  mode: 'read' | 'write',
  work: (connection: ProjectConnection) => Promise<void>,
): Promise<void> {
  const workspace = Workspace.find(context.io.cwd);
  if (workspace === null || context.explicitUrl !== null) {
    const genesis = await connectToServer(context, workspace);
    const plan = async () => statusIfPlanned(unwrapReply(await genesis.status()));
    return work({ calls: genesis.methodology, workspace, title: genesis.project, plan });
  }
  await assertOwnProject(context, workspace);
  const opened = await (mode === 'read'
    ? openForReading(context, workspace)
    : openForWriting(context, workspace)
  ).catch(throwUserError);
  try {
    await work({
      calls: opened.calls,
      workspace,
      title: opened.title,
      plan: () => opened.plan(),
    });
  } finally {
    await opened.close();
  }
}

/** Without a server, `--project` may only name the workspace's own project. */
async function assertOwnProject({ explicitProject }: CommandContext, workspace: Workspace): Promise<void> {
  if (explicitProject === null) return;
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { project_id } = await readProjectKey(workspace).catch(throwUserError);
  if (project_id === explicitProject) return;
  throw wrongUsage(
    `This is the workspace of ${project_id}. For ${singleLine(explicitProject)} say where its server is, too: --url URL.`,
  );
}

/** The workspace, for commands that need its files. */
export function requireWorkspace({ io }: CommandContext): Workspace {
  const workspace = Workspace.find(io.cwd);
  if (workspace === null) throw workspaceMissing(io.cwd);
  return workspace;
}

const workspaceMissing = (folder: string): CommandFailure =>
  noWorkspace(
    `${singleLine(folder)} has no workspace, nor has any folder above it. Make one: gen init. ` +
      'For a project that a server has, say --url URL --project NAME.',
  );

async function connectToServer(context: CommandContext, workspace: Workspace | null) {
  if (workspace !== null && context.explicitProject === null) {
    const { readProjectKey } = await import('../../workspace/project-file.js');
    const { project_id } = await readProjectKey(workspace).catch(throwUserError);
    return context.genesisAt({ url: context.url, tenant: context.tenant, project: project_id });
  }
  const { url, tenant, explicitUrl, explicitProject, state } = context;
  const knownTarget = explicitUrl ?? explicitProject ?? (await state.project(url, tenant));
  if (knownTarget === null) throw workspaceMissing(context.io.cwd);
  return context.genesis();
}

async function openForReading(context: CommandContext, workspace: Workspace): Promise<OpenedProject> {
  const { openReadOnly } = await import('./read-only-project.js');
  return openReadOnly(workspace, callerOf(context));
}

async function openForWriting(context: CommandContext, workspace: Workspace): Promise<OpenedProject> {
  const { openWorkspaceLog } = await import('../workspace/workspace-log.js');
  const { readWorkspaceFiles } = await import('../../workspace/read-files.js');
  const { openInProcess } = await import('./in-process.js');
  const warn = (sentence: string) => context.printNotice(singleLine(sentence));
  const log = await openWorkspaceLog((text) => context.printNotice(text), workspace);
  if ('url' in log) return openThroughServer(context, workspace, log);
  const { store, blobs, key } = log;
  try {
    const opened = await openInProcess(await readWorkspaceFiles(workspace), {
      store,
      blobs,
      key,
      caller: callerOf(context),
    });
    const close = async () => {
      await opened.close();
      // A review may have accepted a result, whose files are then promoted.
      const { promoteAcceptedFiles } = await import('../workspace/promote.js');
      await promoteAcceptedFiles(warn, workspace, { store, blobs, key }).finally(() => store.close());
    };
    return { ...opened, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openThroughServer(
  context: CommandContext,
  workspace: Workspace,
  { url, token }: ServerAddress,
): Promise<OpenedProject> {
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { tenant_id: tenant, project_id: project } = await readProjectKey(workspace);
  const genesis = await context.genesisAt({ url, tenant, project }, token ?? undefined);
  return {
    calls: genesis.methodology,
    title: project,
    plan: async () => statusIfPlanned(unwrapReply(await genesis.status())),
    close: () => {},
  };
}

const callerOf = ({ io }: CommandContext): Caller => ({ ...OPEN_CALLER, user_id: io.user });
