import type { Caller } from '../../coordinator/caller.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import type { ProjectStatus } from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { readFiles } from '../../workspace/read-files.js';
import type { Workspace } from '../../workspace/workspace.js';
import { expected } from '../replies.js';
import type { Calls } from './calls.js';
import { withTasks } from './with-tasks.js';

export interface InProcess {
  readonly calls: Calls;
  /** How the plan stands; null: the project has none. */
  plan(): Promise<ProjectStatus | null>;
  close(): void | Promise<void>;
}

interface Place {
  readonly store: Store;
  readonly blobs?: Blobs;
  readonly key: ProjectKey;
  readonly caller: Caller;
}

/** A coordinator of this process alone, which first takes in what the workspace's files say now; without one, the built-in. */
export async function openInProcess(workspace: Workspace | null, place: Place): Promise<InProcess> {
  const { store, blobs, key, caller } = place;
  const coordinator = await Coordinator.open(blobs === undefined ? { store } : { store, blobs });
  try {
    const files = workspace === null ? {} : Object.fromEntries(await readFiles(workspace));
    expected(await coordinator.configure(key, { files }, caller));
  } catch (error) {
    coordinator.close();
    throw error;
  }
  return {
    calls: callsOf(coordinator, key, caller),
    plan: async () => withTasks(expected(await coordinator.queries.status(key))),
    close: () => coordinator.close(),
  };
}

function callsOf({ methodology: service }: Coordinator, key: ProjectKey, caller: Caller): Calls {
  return {
    start: (asked = {}) => service.start(key, asked),
    status: () => service.status(key),
    feature: (feature) => service.feature(key, { feature }),
    health: () => service.health(key),
    gantt: () => service.gantt(key),
    zoom: (asked) => service.zoom(key, asked),
    trace: (asked) => service.trace(key, asked),
    spawn: (asked) => service.spawn(key, asked, caller),
    foldBack: (asked) => service.foldBack(key, asked, caller),
    checkpoint: (asked) => service.checkpoint(key, asked, caller),
    reviews: () => service.reviews(key),
    review: (asked) => service.review(key, asked, caller),
    gaps: (asked) => service.gaps(key, asked, caller),
    gapsFound: () => service.gapsFound(key),
    release: (asked) => service.release(key, asked, caller),
  } as Calls;
}
