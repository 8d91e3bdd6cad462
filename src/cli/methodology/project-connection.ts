import type { Genesis } from '../../client/index.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { workspaceMissing, wrongUsage } from '../exit.js';
import { singleLine } from '../output/text.js';
import {
  type OpenedProject,
  type ProjectCalls,
  projectOfClient,
  type ReadOnlyCalls,
} from './opened-project.js';

/** A methodology command's connection to its project. */
export interface ProjectConnection<Calls = ProjectCalls> extends OpenedProject<Calls> {
  /** The workspace that contains the current folder; null without a workspace, and for a log that is opened with `--log`. */
  readonly workspace: Workspace | null;
}

/**
 * Runs a command on its project: at the given server, or on the workspace's own log. Read mode never locks the log,
 * so it works while another process writes it.
 */
export async function withMethodology<Mode extends 'read' | 'write', T>(
  context: CommandContext,
  mode: Mode,
  work: (connection: ProjectConnection<'write' extends Mode ? ProjectCalls : ReadOnlyCalls>) => Promise<T>,
): Promise<T> {
  const workspace = Workspace.find(context.io.cwd);
  const opened = await openProject(context, workspace, mode);
  try {
    return await work({ ...opened, workspace });
  } finally {
    await opened.close();
  }
}

async function openProject(
  context: CommandContext,
  workspace: Workspace | null,
  mode: 'read' | 'write',
): Promise<OpenedProject> {
  if (workspace === null || context.explicitUrl !== null)
    return projectOfClient(await connectToServer(context, workspace));
  await assertOwnProject(context, workspace);
  if (mode === 'write') return openForWriting(context, workspace);
  const { openReadOnly } = await import('./read-only-project.js');
  return openReadOnly(workspace, context.io.user, context.warn);
}

const readOwnProjectId = async (workspace: Workspace): Promise<string> => {
  const { readProjectKey } = await import('../../workspace/project-file.js');
  return (await readProjectKey(workspace)).project_id;
};

/** Refuses an explicit project other than the workspace's own: other projects need a server. */
async function assertOwnProject({ explicitProject }: CommandContext, workspace: Workspace): Promise<void> {
  if (explicitProject === null) return;
  const project = await readOwnProjectId(workspace);
  if (project === explicitProject) return;
  throw wrongUsage(
    `This is the workspace of ${project}. For ${singleLine(explicitProject)}, also pass --url URL.`,
  );
}

async function connectToServer(context: CommandContext, workspace: Workspace | null): Promise<Genesis> {
  const { url, tenant, explicitUrl, explicitProject } = context;
  if (workspace !== null && explicitProject === null)
    return context.genesisAt({ url, tenant, project: await readOwnProjectId(workspace) });
  const knownTarget = explicitUrl ?? explicitProject ?? (await context.state.project(url, tenant));
  if (knownTarget === null) throw workspaceMissing(context.io.cwd);
  return context.genesis();
}

async function openForWriting(context: CommandContext, workspace: Workspace): Promise<OpenedProject> {
  const { openWorkspaceLog, promoteAcceptedFiles } = await import('../workspace/workspace-log.js');
  const { readWorkspaceFiles } = await import('../../workspace/read-files.js');
  const { openInProcess } = await import('./in-process.js');
  const log = await openWorkspaceLog(context.warn, workspace);
  if ('url' in log) {
    const { url, token } = log;
    const { readProjectKey } = await import('../../workspace/project-file.js');
    const { tenant_id: tenant, project_id: project } = await readProjectKey(workspace);
    return projectOfClient(await context.genesisAt({ url, tenant, project }, token ?? undefined));
  }
  try {
    const files = await readWorkspaceFiles(workspace);
    const { warn } = context;
    const opened = await openInProcess(files, { ...log, user: context.io.user, warn });
    const close = async () => {
      await opened.close();
      // A review may have accepted a result, whose files are then promoted.
      await promoteAcceptedFiles(context.warn, workspace, log).finally(() => log.store.close());
    };
    return { ...opened, close };
  } catch (error) {
    await log.store.close();
    throw error;
  }
}
