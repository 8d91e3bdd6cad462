import { join } from 'node:path';
import { Coordinator } from '../../../coordinator/coordinator.js';
import { openFileStore } from '../../../stores/file/file-store.js';
import { FolderBlobs } from '../../../stores/file/folder-blobs.js';
import { coordinatorRemote } from '../coordinator-remote.js';
import { isRefusal } from '../place.js';
import { pull } from '../pull.js';
import { push } from '../push.js';
import { KEY, opened, placeIn } from './laptop.js';

/** Tells the office what was done offline, and takes over its log. */
export async function syncOnce(
  folder: string,
  office: string,
  onStep: (step: string) => void = () => {},
): Promise<void> {
  const store = await openFileStore({ root: join(office, 'store') });
  const blobs = new FolderBlobs(join(office, 'blobs'));
  const coordinator = await Coordinator.open({ store, blobs });
  const remote = coordinatorRemote({ name: 'the office', coordinator, store, blobs, key: KEY });
  const place = placeIn(folder);
  const options = { now_ms: Date.now(), onStep, keep_aside: false };
  const first = await pull(place, remote, options);
  // Whoever died between the two had pushed nothing, or all of it: a pull alone says which.
  if (isRefusal(first)) {
    const told = await opened(place, (local) => push(place, local, remote, new Map(), options));
    const taken = isRefusal(told) ? told : await pull(place, remote, options);
    if (isRefusal(taken)) throw new Error(taken.detail);
  }
  coordinator.close();
  await store.close();
}
