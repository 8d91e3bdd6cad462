import { publishAddressAfter, type ServerAddress } from '../../workspace/address.js';
import { maintainWorkspace, workspaceContextOf } from '../../workspace/serve.js';
import type { Workspace } from '../../workspace/workspace.js';
import { configure, reloadConfiguration } from './configure.js';
import { openWorkspaceLog, promoteAcceptedFiles } from './workspace-log.js';

export interface CommandServer extends ServerAddress {
  stop(): Promise<void>;
}

/**
 * A command that runs longer than this keeps others from the log, so it publishes its address, serves other commands and
 * maintains the workspace, as `gen up` does. Most commands end sooner.
 */
const PUBLISHED_AFTER_MS = 1000;

/**
 * A server for one command: in a workspace every command uses the workspace's own log, with or without `gen up`.
 * Every user of the machine can reach its port, so it requires a token that only this user can read. If another
 * process holds the log and serves it, the address of that process is returned instead.
 */
export async function startCommandServer(
  warn: (sentence: string) => void,
  workspace: Workspace,
): Promise<CommandServer> {
  const opened = await openWorkspaceLog(warn, workspace);
  if ('url' in opened) return { ...opened, stop: async () => {} };
  // Lazy import: other commands do not pay its load time.
  const { startServer } = await import('../../server/server.js');
  const { newPrivateToken } = await import('../../server/auth/private-token.js');
  const token = newPrivateToken();
  const server = await startServer({ ...opened, port: 0, auth: { private_token: token } });
  await configure(warn, workspace, server.coordinator);
  const address = { url: server.url, token };
  const publishedAddress = publishAddressAfter(workspace, address, PUBLISHED_AFTER_MS);
  const maintenance = maintainAfter(PUBLISHED_AFTER_MS, {
    workspace,
    context: workspaceContextOf(workspace, { ...opened, coordinator: server.coordinator }),
    reload: reloadConfiguration(warn, workspace, server.coordinator),
    warn,
  });
  return {
    ...address,
    stop: async () => {
      await maintenance.stop();
      await publishedAddress.withdraw();
      await promoteAcceptedFiles(warn, workspace, opened);
      await server.stop();
    },
  };
}

interface WorkspaceMaintenance extends Omit<Parameters<typeof maintainWorkspace>[0], 'signal'> {
  readonly warn: (sentence: string) => void;
}

function maintainAfter(
  delayMs: number,
  { warn, ...options }: WorkspaceMaintenance,
): { stop(): Promise<void> } {
  const stopController = new AbortController();
  let maintained: Promise<void> = Promise.resolve();
  const timer = setTimeout(() => {
    // What cannot be promoted now is promoted when the command ends.
    maintained = maintainWorkspace({ ...options, signal: stopController.signal }).catch((error: Error) =>
      warn(error.message),
    );
  }, delayMs).unref();
  return {
    stop: async () => {
      clearTimeout(timer);
      stopController.abort();
      await maintained;
    },
  };
}
