import { cursorAt } from '../coordinator/queries/cursor.js';
import { ACCEPTING_EVENTS, promoteAccepted } from './drafts/promote-accepted.js';
import { importForeignLines } from './import-foreign-lines.js';
import type { WorkspaceContext } from './inbox/execute-command.js';
import { Serialiser } from './inbox/serialiser.js';
import { type WatchOptions, watchInboxes } from './inbox/watch.js';
import { watchConfiguration } from './watch-configuration.js';
import type { Workspace } from './workspace.js';

interface ServeOptions extends Omit<WatchOptions, 'eventsFolder' | 'serialiser'> {
  readonly workspace: Workspace;
  readonly context: WorkspaceContext;
  /** False for a single-agent project, which uses no inbox. */
  readonly hasInboxes: boolean;
  /** Loads the configuration files into the log. */
  readonly reload: () => Promise<void>;
}

/** Serves a workspace, its inboxes and its files, until the signal aborts. */
export async function serveWorkspace(options: ServeOptions): Promise<void> {
  const { workspace } = options;
  await Promise.all([
    options.hasInboxes
      ? watchInboxes({ ...options, eventsFolder: workspace.events, serialiser: createSerialiser(options) })
      : null,
    maintainWorkspace(options),
  ]);
}

/**
 * Until the signal aborts: promotes accepted files, reloads the configuration when it changes, and imports foreign lines of the
 * log.
 */
export async function maintainWorkspace({
  workspace,
  context,
  reload,
  signal,
}: Pick<ServeOptions, 'workspace' | 'context' | 'reload' | 'signal'>): Promise<void> {
  await Promise.all([
    promoteContinuously(context, signal),
    watchConfiguration(workspace, reload, signal),
    importForeignLines(context, signal),
  ]);
}

export const workspaceContextOf = (
  project: Workspace,
  services: Omit<WorkspaceContext, 'project' | 'hasGrantFolders'>,
): WorkspaceContext => ({ ...services, project, hasGrantFolders: true });

type SerialisedWorkspace = Pick<ServeOptions, 'workspace' | 'context' | 'warn'>;

export const createSerialiser = ({ workspace, context, warn }: SerialisedWorkspace): Serialiser =>
  new Serialiser({ events: workspace.events, context, warn, now: () => new Date() });

/** Promotes accepted files continuously, because results also arrive over other interfaces than the inboxes. */
async function promoteContinuously(context: WorkspaceContext, signal: AbortSignal): Promise<void> {
  const { coordinator, store, key } = context;
  const position = (await store.project(key))?.position ?? 0;
  await promoteAccepted(context.project, context);
  for await (const { event } of coordinator.feed.follow(key, cursorAt(position), signal)) {
    if (ACCEPTING_EVENTS.includes(event.event_type)) await promoteAccepted(context.project, context);
  }
}
