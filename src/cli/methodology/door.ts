import { type Caller, OPEN_CALLER } from '../../coordinator/caller.js';
import type { ProjectStatus } from '../../core/views/index.js';
import type { ServerAddress } from '../../workspace/address.js';
import { Workspace } from '../../workspace/workspace.js';
import type { Context } from '../context.js';
import { type CommandFailure, noWorkspace, wrongUsage } from '../exit.js';
import { plainText } from '../output/text.js';
import { expected } from '../replies.js';
import { spoken } from '../spoken.js';
import type { Calls, Reading } from './calls.js';
import type { InProcess } from './in-process.js';
import { withTasks } from './with-tasks.js';

/** Where a command of the methodology finds its project. */
export interface Door<C = Calls> {
  readonly calls: C;
  /** The workspace that this folder is in; null: none, and the project is a server's alone. */
  readonly workspace: Workspace | null;
  /** What the project is called. */
  readonly title: string;
  /** How the plan stands; null: the project has none. */
  plan(): Promise<ProjectStatus | null>;
}

/**
 * Runs a command on its project: at the server that was named, or on the workspace's own log. What only reads never
 * takes that log for itself, and so works while another process writes it.
 */
export function withMethodology(
  context: Context,
  mode: 'read',
  work: (door: Door<Reading>) => Promise<void>,
): Promise<void>;
export function withMethodology(
  context: Context,
  mode: 'read' | 'write',
  work: (door: Door) => Promise<void>,
): Promise<void>;
export async function withMethodology(
  context: Context,
  mode: 'read' | 'write',
  work: (door: Door) => Promise<void>,
): Promise<void> {
  const workspace = Workspace.find(context.io.cwd);
  if (workspace === null || context.named_url !== null) {
    const genesis = await atServer(context, workspace);
    const plan = async () => withTasks(expected(await genesis.status()));
    return work({ calls: genesis.methodology, workspace, title: genesis.project, plan });
  }
  await assertOwnProject(context, workspace);
  const opened = await (mode === 'read' ? reading(context, workspace) : writing(context, workspace)).catch(
    spoken,
  );
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

/** Another project than the one whose workspace this is can only be meant of a server. */
async function assertOwnProject({ named_project }: Context, workspace: Workspace): Promise<void> {
  if (named_project === null) return;
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { project_id } = await readProjectKey(workspace).catch(spoken);
  if (project_id === named_project) return;
  throw wrongUsage(
    `This is the workspace of ${project_id}. For ${plainText(named_project)} say where its server is, too: --url URL.`,
  );
}

/** The workspace, for what cannot be done without its files. */
export function inWorkspace({ io }: Context): Workspace {
  const workspace = Workspace.find(io.cwd);
  if (workspace === null) throw nothingHere(io.cwd);
  return workspace;
}

const nothingHere = (folder: string): CommandFailure =>
  noWorkspace(
    `${plainText(folder)} has no workspace, nor has any folder above it. Make one: gen init. ` +
      'For a project that a server has, say --url URL --project NAME.',
  );

async function atServer(context: Context, workspace: Workspace | null) {
  if (workspace !== null && context.named_project === null) {
    const { readProjectKey } = await import('../../workspace/project-file.js');
    const { project_id } = await readProjectKey(workspace).catch(spoken);
    return context.genesisAt({ url: context.url, tenant: context.tenant, project: project_id });
  }
  const { url, tenant, named_url, named_project, memory } = context;
  const is_known = named_url ?? named_project ?? (await memory.project(url, tenant));
  if (is_known === null) throw nothingHere(context.io.cwd);
  return context.genesis();
}

async function reading(context: Context, workspace: Workspace): Promise<InProcess> {
  const { openReading } = await import('./reading.js');
  return openReading(workspace, callerOf(context));
}

async function writing(context: Context, workspace: Workspace): Promise<InProcess> {
  const { ownLog } = await import('../workspace/own-log.js');
  const { readFiles } = await import('../../workspace/read-files.js');
  const { openInProcess } = await import('./in-process.js');
  const warn = (sentence: string) => context.remark(plainText(sentence));
  const found = await ownLog((text) => context.remark(text), workspace);
  if ('url' in found) return throughServer(context, workspace, found);
  const { store, blobs, key } = found;
  try {
    const opened = await openInProcess(await readFiles(workspace), {
      store,
      blobs,
      key,
      caller: callerOf(context),
    });
    const close = async () => {
      await opened.close();
      // A review may have accepted a result.
      const { promoteHere } = await import('../workspace/promote.js');
      await promoteHere(warn, workspace, { store, blobs, key }).finally(() => store.close());
    };
    return { ...opened, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function throughServer(
  context: Context,
  workspace: Workspace,
  { url, token }: ServerAddress,
): Promise<InProcess> {
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { tenant_id: tenant, project_id: project } = await readProjectKey(workspace);
  const genesis = await context.genesisAt({ url, tenant, project }, token ?? undefined);
  return {
    calls: genesis.methodology,
    title: project,
    plan: async () => withTasks(expected(await genesis.status())),
    close: () => {},
  };
}

const callerOf = ({ io }: Context): Caller => ({ ...OPEN_CALLER, user_id: io.user });
