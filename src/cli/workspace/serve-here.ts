import { openWorkspaceStore } from '../../workspace/store.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { Context } from '../context.js';
import { refuse } from '../open-store.js';
import { plainText } from '../output/text.js';
import { configure } from './attend.js';
import { promoteHere } from './promote.js';

export interface ServedHere {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A server for one command: in a workspace every command works on the workspace's own log, whether somebody runs
 * `gen up` or not. Null: another process has the log, and is the one to ask.
 */
export async function serveHere(context: Context, workspace: Workspace): Promise<ServedHere | null> {
  const warn = (sentence: string) => context.remark(plainText(sentence));
  const opened = await openWorkspaceStore(workspace, warn).catch((error: Error) =>
    error.name === 'StoreUnavailable' ? null : refuse(error),
  );
  if (opened === null) return null;
  // Loaded here alone: no other command has to wait for it.
  const { startServer } = await import('../../server/server.js');
  const server = await startServer({ ...opened, port: 0 });
  await configure(context, workspace, server.coordinator);
  return {
    url: server.url,
    stop: async () => {
      await promoteHere(context, workspace, opened);
      await server.stop();
    },
  };
}
