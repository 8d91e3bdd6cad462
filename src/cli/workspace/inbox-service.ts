import type { Coordinator } from '../../coordinator/coordinator.js';
import type { Blobs } from '../../stores/blobs.js';
import type { Store } from '../../stores/store.js';
import { removeAddress, writeAddress } from '../../workspace/address.js';
import { isSingleAgent } from '../../workspace/load.js';
import { readProjectKey } from '../../workspace/project-file.js';
import { serveWorkspace, workspaceContextOf } from '../../workspace/serve.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { singleLine } from '../output/text.js';
import { configure } from './configure.js';

export interface WorkspaceServer {
  /** The server's URL. */
  readonly url: string;
  readonly coordinator: Coordinator;
  readonly store: Store;
  readonly blobs: Blobs;
}

export interface InboxService {
  /** Rejects when the workspace can no longer be served. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

/** Loads a workspace's files into its log, and serves its inboxes while the server runs. */
export async function startInboxService(
  context: CommandContext,
  workspace: Workspace,
  { url, ...runtime }: WorkspaceServer,
): Promise<InboxService> {
  const key = await readProjectKey(workspace);
  await writeAddress(workspace, { url, token: null });
  await configure((text) => context.printNotice(text), workspace, runtime.coordinator);
  const stopController = new AbortController();
  const warn = (sentence: string): void => context.printNotice(singleLine(sentence));
  const inboxRuntime = workspaceContextOf(workspace, { ...runtime, key });
  const has_inboxes = !(await isSingleAgent(workspace));
  const served = serveWorkspace({
    workspace,
    context: inboxRuntime,
    warn,
    has_inboxes,
    signal: stopController.signal,
  });
  return {
    failed: new Promise((_, reject) => served.catch(reject)),
    stop: async () => {
      stopController.abort();
      await removeAddress(workspace);
      await served;
    },
  };
}
