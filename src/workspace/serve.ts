import { cursorAt } from '../coordinator/queries/cursor.js';
import { cleanUpWorktree, createGrantFolders, promoteAccepted } from './drafts/index.js';
import type { WorkspaceContext } from './inbox/execute-command.js';
import type { PassCounts } from './inbox/pass-counts.js';
import { Serialiser } from './inbox/serialiser.js';
import { watchInboxes } from './inbox/watch.js';
import type { Workspace } from './workspace.js';

export interface ServeOptions {
  readonly workspace: Workspace;
  readonly context: WorkspaceContext;
  readonly signal: AbortSignal;
  /** False for a single-agent project, which uses no inbox. */
  readonly has_inboxes: boolean;
  readonly warn: (sentence: string) => void;
  readonly onPass?: (tally: PassCounts) => void;
}

/** Serves a workspace while its process runs: its inboxes, and the promotion of accepted files. */
export async function serveWorkspace(options: ServeOptions): Promise<void> {
  const { workspace, context } = options;
  await Promise.all([
    options.has_inboxes
      ? watchInboxes({ ...options, events: workspace.events, serialiser: serialiserOf(options) })
      : null,
    promoteContinuously(context, options.signal),
  ]);
}

/**
 * The context of a workspace's serialiser, with the functions that create and clean up the folders of its grants.
 */
export const workspaceContextOf = (
  workspace: Workspace,
  dependencies: Omit<WorkspaceContext, 'project' | 'createGrantFolders' | 'cleanUpGrant'>,
): WorkspaceContext => ({
  ...dependencies,
  project: workspace,
  createGrantFolders: (grant) => createGrantFolders(workspace, grant),
  cleanUpGrant: (grant) => cleanUpWorktree(workspace, grant),
});

export const serialiserOf = ({
  workspace,
  context,
  warn,
}: Omit<ServeOptions, 'signal' | 'has_inboxes'>): Serialiser =>
  new Serialiser({ events: workspace.events, context, warn, now: () => new Date() });

const ACCEPTING_EVENTS: ReadonlySet<string> = new Set(['edge_converged', 'result_adopted']);

/** Promotes accepted files continuously: results also arrive over other interfaces than the inboxes. */
async function promoteContinuously(context: WorkspaceContext, signal: AbortSignal): Promise<void> {
  const { coordinator, store, key } = context;
  const position = (await store.project(key))?.position ?? 0;
  await promoteAccepted(context.project, context);
  for await (const { event } of coordinator.feed.follow(key, cursorAt(position), signal)) {
    if (ACCEPTING_EVENTS.has(event.event_type)) await promoteAccepted(context.project, context);
  }
}
