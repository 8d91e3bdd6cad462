import { announce } from '../../workspace/address.js';
import type { Workspace } from '../../workspace/workspace.js';
import { spoken } from '../spoken.js';
import { configure, type Remark } from './configure.js';
import { ownLog } from './own-log.js';
import { promoteHere } from './promote.js';

export interface ServedHere {
  readonly url: string;
  stop(): Promise<void>;
}

/** Most commands are done by then. One that stays takes the commands of others in: it has the log. */
const ANNOUNCED_AFTER_MS = 1000;

/**
 * A server for one command: in a workspace every command works on the workspace's own log, whether somebody runs
 * `gen up` or not. Where another process has the log and serves it, that is the one to ask.
 */
export async function serveHere(remark: Remark, workspace: Workspace): Promise<ServedHere> {
  const opened = await ownLog(remark, workspace).catch(spoken);
  if (typeof opened === 'string') return { url: opened, stop: async () => {} };
  // Loaded here alone: no other command has to wait for it.
  const { startServer } = await import('../../server/server.js');
  const server = await startServer({ ...opened, port: 0 });
  await configure(remark, workspace, server.coordinator);
  const announced = announce(workspace, server.url, ANNOUNCED_AFTER_MS);
  return {
    url: server.url,
    stop: async () => {
      await announced.withdraw();
      await promoteHere(remark, workspace, opened);
      await server.stop();
    },
  };
}
