import type { Problem as ClientProblem } from '../../client/index.js';
import type { Caller } from '../../coordinator/caller.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem, type Problem } from '../../coordinator/problem.js';
import type { ProjectStatus } from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { expected } from '../replies.js';
import type { Calls } from './calls.js';
import { withTasks } from './with-tasks.js';

export interface InProcess {
  readonly calls: Calls;
  /** What the project is called. */
  readonly title: string;
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

/** A coordinator of this process alone, which first takes in what the project's files say; what they do not is built in. */
export async function openInProcess(files: ReadonlyMap<string, string>, place: Place): Promise<InProcess> {
  const { store, blobs, key, caller } = place;
  const coordinator = await Coordinator.open(blobs === undefined ? { store } : { store, blobs });
  try {
    expected(await told(coordinator.settings.configure(key, { files: Object.fromEntries(files) }, caller)));
  } catch (error) {
    coordinator.close();
    throw error;
  }
  return {
    calls: callsOf(coordinator, key, caller),
    title: key.project_id,
    plan: async () => withTasks(expected(await told(coordinator.queries.status(key)))),
    close: () => coordinator.close(),
  };
}

function callsOf({ methodology: service }: Coordinator, key: ProjectKey, caller: Caller): Calls {
  const calls: { [K in keyof Calls]: (...asked: Parameters<Calls[K]>) => Promise<unknown> } = {
    start: (asked = {}) => told(service.start(key, asked)),
    status: () => told(service.status(key)),
    feature: (feature) => told(service.feature(key, { feature })),
    health: () => told(service.health(key)),
    gantt: () => told(service.gantt(key)),
    zoom: (asked) => told(service.zoom(key, asked)),
    trace: (asked) => told(service.trace(key, asked)),
    spawn: (asked) => told(service.spawn(key, asked, caller)),
    foldBack: (asked) => told(service.foldBack(key, asked, caller)),
    checkpoint: (asked) => told(service.checkpoint(key, asked, caller)),
    reviews: () => told(service.reviews(key)),
    review: (asked) => told(service.review(key, asked, caller)),
    gaps: (asked) => told(service.gaps(key, asked, caller)),
    gapsFound: () => told(service.gapsFound(key)),
    release: (asked) => told(service.release(key, asked, caller)),
  };
  return calls as Calls;
}

/** A problem as whoever calls a server is told of it, so that a command has to know only one kind. */
async function told<T>(reply: Promise<T | Problem>): Promise<T | ClientProblem> {
  const said = await reply;
  if (!isProblem(said)) return said;
  const { problem: code, detail, faults } = said;
  return { code, detail, status: 0, ...(faults === undefined ? {} : { faults }) };
}
