import type { ApiProblem as ClientProblem } from '../../client/index.js';
import type { Caller } from '../../coordinator/authentication/caller.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import type { ProjectStatus } from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { unwrapReply } from '../replies.js';
import type { ProjectCalls } from './calls.js';
import { statusIfPlanned } from './status-if-planned.js';

export interface OpenedProject {
  readonly calls: ProjectCalls;
  readonly title: string;
  /** The plan's status; null if the project has no plan. */
  plan(): Promise<ProjectStatus | null>;
  close(): void | Promise<void>;
}

interface InProcessOptions {
  readonly store: Store;
  readonly blobs?: Blobs;
  readonly key: ProjectKey;
  readonly caller: Caller;
}

/** Opens a coordinator in this process and loads the project's files into it; built-in defaults fill the rest. */
export async function openInProcess(
  files: ReadonlyMap<string, string>,
  options: InProcessOptions,
): Promise<OpenedProject> {
  const { store, blobs, key, caller } = options;
  const coordinator = await Coordinator.open(blobs === undefined ? { store } : { store, blobs });
  try {
    unwrapReply(
      await toClientReply(coordinator.settings.configure(key, { files: Object.fromEntries(files) }, caller)),
    );
  } catch (error) {
    coordinator.close();
    throw error;
  }
  return {
    calls: inProcessCalls(coordinator, key, caller),
    title: key.project_id,
    plan: async () => statusIfPlanned(unwrapReply(await toClientReply(coordinator.queries.status(key)))),
    close: () => coordinator.close(),
  };
}

function inProcessCalls(
  { methodology: service }: Coordinator,
  key: ProjectKey,
  caller: Caller,
): ProjectCalls {
  const calls: { [K in keyof ProjectCalls]: (...request: Parameters<ProjectCalls[K]>) => Promise<unknown> } =
    {
      start: (request = {}) => toClientReply(service.start(key, request)),
      status: () => toClientReply(service.status(key)),
      feature: (feature) => toClientReply(service.feature(key, { feature })),
      health: () => toClientReply(service.health(key)),
      gantt: () => toClientReply(service.gantt(key)),
      zoom: (request) => toClientReply(service.zoom(key, request)),
      trace: (request) => toClientReply(service.trace(key, request)),
      spawn: (request) => toClientReply(service.spawn(key, request, caller)),
      foldBack: (request) => toClientReply(service.foldBack(key, request, caller)),
      checkpoint: (request) => toClientReply(service.checkpoint(key, request, caller)),
      reviews: () => toClientReply(service.reviews(key)),
      review: (request) => toClientReply(service.review(key, request, caller)),
      gaps: (request) => toClientReply(service.gaps(key, request, caller)),
      gapsFound: () => toClientReply(service.gapsFound(key)),
      release: (request) => toClientReply(service.release(key, request, caller)),
    };
  return calls as ProjectCalls;
}

/** Converts a coordinator's problem to the client's shape, so that commands handle only one. */
async function toClientReply<T>(pendingReply: Promise<T | Problem>): Promise<T | ClientProblem> {
  const outcome = await pendingReply;
  if (!isProblem(outcome)) return outcome;
  const { problem: code, detail, faults } = outcome;
  return { code, detail, status: 0, ...(faults === undefined ? {} : { faults }) };
}
