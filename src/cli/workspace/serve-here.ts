import { openWorkspaceStore } from '../../workspace/store.js';
import type { Workspace } from '../../workspace/workspace.js';
import { plainText } from '../output/text.js';
import { spoken } from '../spoken.js';
import { configure, type Remark } from './configure.js';
import { promoteHere } from './promote.js';

export interface ServedHere {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A server for one command: in a workspace every command works on the workspace's own log, whether somebody runs
 * `gen up` or not. Null: another process has the log, and is the one to ask.
 */
export async function serveHere(remark: Remark, workspace: Workspace): Promise<ServedHere | null> {
  const warn = (sentence: string) => remark(plainText(sentence));
  const opened = await openWorkspaceStore(workspace, warn).catch((error: Error) =>
    error.name === 'StoreUnavailable' ? null : spoken(error),
  );
  if (opened === null) return null;
  // Loaded here alone: no other command has to wait for it.
  const { startServer } = await import('../../server/server.js');
  const server = await startServer({ ...opened, port: 0 });
  await configure(remark, workspace, server.coordinator);
  return {
    url: server.url,
    stop: async () => {
      await promoteHere(remark, workspace, opened);
      await server.stop();
    },
  };
}
