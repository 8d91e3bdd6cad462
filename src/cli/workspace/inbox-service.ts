import { removeAddress, writeAddress } from '../../workspace/address.js';
import { isSingleAgent } from '../../workspace/mode.js';
import { readProjectKey } from '../../workspace/project-file.js';
import { serveWorkspace, workspaceContextOf } from '../../workspace/serve.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import type { OpenedCoordinator } from '../open-store.js';
import { configure, reloadConfiguration } from './configure.js';

/** Loads a workspace's files into its log, and serves the workspace and its inboxes, if it has any, while the server runs. */
export async function startInboxService(
  context: CommandContext,
  workspace: Workspace,
  { url, ...runtime }: OpenedCoordinator & { readonly url: string },
) {
  const projectKey = await readProjectKey(workspace);
  await configure(context.warn, workspace, runtime.coordinator);
  const stopController = new AbortController();
  const workspaceContext = workspaceContextOf(workspace, { ...runtime, key: projectKey });
  const hasInboxes = !(await isSingleAgent(workspace));
  // The address is written last, because other commands use it as soon as the file exists.
  await writeAddress(workspace, { url, token: null });
  const { signal } = stopController;
  const { warn } = context;
  const reload = reloadConfiguration(warn, workspace, runtime.coordinator);
  const served = serveWorkspace({ workspace, context: workspaceContext, warn, hasInboxes, reload, signal });
  return {
    /** Rejects when the workspace can no longer be served. */
    failed: new Promise<never>((_, reject) => served.catch(reject)),
    stop: async () => {
      stopController.abort();
      await removeAddress(workspace);
      await served;
    },
  };
}
