import { announce, type ServerAddress } from '../../workspace/address.js';
import type { Workspace } from '../../workspace/workspace.js';
import { spoken } from '../spoken.js';
import { configure, type Remark } from './configure.js';
import { ownLog } from './own-log.js';
import { promoteHere } from './promote.js';

export interface ServedHere extends ServerAddress {
  stop(): Promise<void>;
}

/** Most commands are done by then. One that stays takes the commands of others in: it has the log. */
const ANNOUNCED_AFTER_MS = 1000;

/**
 * A server for one command: in a workspace every command works on the workspace's own log, with or without `gen up`.
 * Every user of the machine can reach its port, so it demands a token that only this user can read. Where another process
 * has the log and serves it, that is the one to ask.
 */
export async function serveHere(remark: Remark, workspace: Workspace): Promise<ServedHere> {
  const opened = await ownLog(remark, workspace).catch(spoken);
  if ('url' in opened) return { ...opened, stop: async () => {} };
  // Loaded here alone: no other command has to wait for it.
  const { startServer } = await import('../../server/server.js');
  const { newPrivateToken } = await import('../../server/auth/private-token.js');
  const token = newPrivateToken();
  const server = await startServer({ ...opened, port: 0, auth: { private_token: token } });
  await configure(remark, workspace, server.coordinator);
  const address = { url: server.url, token };
  const announced = announce(workspace, address, ANNOUNCED_AFTER_MS);
  return {
    ...address,
    stop: async () => {
      await announced.withdraw();
      await promoteHere(remark, workspace, opened);
      await server.stop();
    },
  };
}
