import { setTimeout as pause } from 'node:timers/promises';
import { StoreInUse } from '../../stores/file/file-store.js';
import { readAddress, type ServerAddress, type UntrustedAddress } from '../../workspace/address.js';
import { promoteAccepted } from '../../workspace/drafts/promote-accepted.js';
import { openWorkspaceStore, type WorkspaceStore } from '../../workspace/store.js';
import type { Workspace } from '../../workspace/workspace.js';
import { type CommandFailure, failureWithCode } from '../exit.js';
import { singleLine } from '../output/text.js';

/** Maximum wait for another command to release the log. */
const WAIT_MS_MAX = 10_000;
const POLL_INTERVAL_MS = 100;

/**
 * The workspace's log, or the address of the process that holds and serves it. A log has one writer, so a command
 * waits for the command before it. It uses no other server, which would not have this workspace's log.
 */
export async function openWorkspaceLog(
  warn: (sentence: string) => void,
  workspace: Workspace,
): Promise<WorkspaceStore | ServerAddress> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const opened = await openWorkspaceStore(workspace, warn).catch((error: unknown) => {
      if (error instanceof StoreInUse) return error;
      throw error;
    });
    if (!(opened instanceof StoreInUse)) return opened;
    const address = await readAddress(workspace);
    if (address !== null && !('untrusted' in address)) return address;
    if (performance.now() > untilMs) throw inUseFailure(opened, address);
    await pause(POLL_INTERVAL_MS);
  }
}

/** Copies the files of accepted results into the project, and reports conflicts and failures. */
export async function promoteAcceptedFiles(
  warn: (sentence: string) => void,
  workspace: Workspace,
  log: WorkspaceStore,
): Promise<void> {
  const { conflicts, failures } = await promoteAccepted(workspace, log);
  for (const { path, says, kept_at } of conflicts)
    warn(`${path}: ${says}${kept_at === null ? '' : ` Accepted version: ${kept_at}`}`);
  for (const { path, says } of failures) warn(`${path}: ${says}`);
}

/** The failure if the log stays in use. An untrusted address may be another user's, or was written to redirect this command. */
function inUseFailure({ message }: StoreInUse, address: UntrustedAddress | null): CommandFailure {
  const advice =
    address === null
      ? 'If it is gen serialise --watch, stop it and run gen up, which serves the inboxes and also accepts ' +
        'commands. If it is a server at an unknown address, set GENESIS_URL=http://127.0.0.1:4680. ' +
        'Read-only commands (gen status, gen start, gen trace) work meanwhile.'
      : `Its address is not trusted: ${singleLine(address.untrusted)}. If no other user serves this workspace, ` +
        'remove that file and start the server again. To use another server, set GENESIS_URL=http://127.0.0.1:4680.';
  return failureWithCode('UNAVAILABLE', `${message}\n${advice}`);
}
