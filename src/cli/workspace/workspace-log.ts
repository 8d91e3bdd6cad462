import { setTimeout as pause } from 'node:timers/promises';
import { StoreInUse } from '../../stores/file/file-store.js';
import { readAddress, type ServerAddress, type UntrustedAddress } from '../../workspace/address.js';
import { openWorkspaceStore, type WorkspaceStore } from '../../workspace/store.js';
import type { Workspace } from '../../workspace/workspace.js';
import { type CommandFailure, failureWithCode } from '../exit.js';
import { singleLine } from '../output/text.js';
import type { NoticePrinter } from './configure.js';

/** Maximum wait for another command to release the log. */
const WAIT_MS_MAX = 10_000;
const POLL_INTERVAL_MS = 100;

/**
 * The workspace's log, or the address of the process that holds and serves it. A log has one writer, so a command
 * waits for the one before it. No other server is asked: it does not have this workspace's log.
 */
export async function openWorkspaceLog(
  printNotice: NoticePrinter,
  workspace: Workspace,
): Promise<WorkspaceStore | ServerAddress> {
  const warn = (sentence: string) => printNotice(singleLine(sentence));
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const opened = await openWorkspaceStore(workspace, warn).catch(asStoreInUse);
    if (!(opened instanceof StoreInUse)) return opened;
    const address = await readAddress(workspace);
    const isTrusted = address !== null && !('untrusted' in address);
    if (isTrusted) return address;
    if (performance.now() > untilMs)
      throw address === null ? logInUseFailure(opened) : untrustedAddressFailure(opened, address);
    await pause(POLL_INTERVAL_MS);
  }
}

function asStoreInUse(error: unknown): StoreInUse {
  if (error instanceof StoreInUse) return error;
  throw error;
}

/** Another user's process may hold the log, or someone planted the address to redirect this command. */
const untrustedAddressFailure = (
  { message }: StoreInUse,
  { untrusted: why }: UntrustedAddress,
): CommandFailure =>
  failureWithCode(
    'UNAVAILABLE',
    `${message}\nIts address is not believed: ${singleLine(why)}. If no other user serves this workspace, remove ` +
      'that file and start the server again. To ask another server, say it: GENESIS_URL=http://127.0.0.1:4680.',
  );

const logInUseFailure = ({ message }: StoreInUse): CommandFailure =>
  failureWithCode(
    'UNAVAILABLE',
    `${message}\nIf it is gen serialise --watch, stop it and run gen up: it serves the inboxes as well, and takes ` +
      'commands. If it is a server whose address is not known here, say it: GENESIS_URL=http://127.0.0.1:4680. ' +
      'What only reads (gen status, gen start, gen trace) works meanwhile.',
  );
