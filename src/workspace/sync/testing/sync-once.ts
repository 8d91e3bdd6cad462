import { join } from 'node:path';
import { Coordinator } from '../../../coordinator/coordinator.js';
import { openFileStore } from '../../../stores/file/file-store.js';
import { FolderBlobs } from '../../../stores/file/folder-blobs.js';
import { pull } from '../pull.js';
import { push } from '../push.js';
import { storeRemote } from '../store-remote.js';
import { isSyncRefusal } from '../sync-workspace.js';
import { KEY, syncWorkspaceIn, withLocalLog } from './sync-harness.js';

/** Pushes offline work to the remote, and pulls its log. */
export async function syncOnce(
  folder: string,
  remoteRoot: string,
  onStep: (step: string) => void = () => {},
): Promise<void> {
  const store = await openFileStore({ root: join(remoteRoot, 'store') });
  const blobs = new FolderBlobs(join(remoteRoot, 'blobs'));
  const coordinator = await Coordinator.open({ store, blobs });
  const remote = storeRemote({ name: 'the office', coordinator, store, blobs, key: KEY });
  const workspace = syncWorkspaceIn(folder);
  const options = { now_ms: Date.now(), onStep, may_replace_unpushed: false };
  const first = await pull(workspace, remote, options);
  // The first pull is refused if not all offline work was pushed, for example before a crash.
  if (isSyncRefusal(first)) {
    const pushed = await withLocalLog(workspace, (local) =>
      push(workspace, local, remote, { files: new Map(), unreadable: new Map() }, options),
    );
    const pulled = isSyncRefusal(pushed) ? pushed : await pull(workspace, remote, options);
    if (isSyncRefusal(pulled)) throw new Error(pulled.detail);
  }
  coordinator.close();
  await store.close();
}
