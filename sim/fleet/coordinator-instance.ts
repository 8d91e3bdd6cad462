import type { Blobs } from '../../src/coordinator/index.js';
import { Coordinator, type CoordinatorOptions } from '../../src/coordinator/index.js';
import type { CommitOutcome, Store, Transaction } from '../../src/stores/store.js';
import type { CredentialRegistry } from '../actors/credential.js';
import type { SimProcess } from '../world/process.js';

/** A running coordinator, with its process and its store. */
export interface CoordinatorInstance {
  readonly process: SimProcess;
  readonly store: Store;
  readonly coordinator: Coordinator;
}

/** The coordinators that agents send commands to, with the faults injected into them. */
export interface SimFleet {
  /** The coordinator with this number; null: it is down. */
  instanceAt(number: number): CoordinatorInstance | null;
  readonly size: number;
  readonly incarnation: number;
  /** Starts the coordinators and the faults of the scenario. */
  start(): void;
  /** Stops all faults; whatever is down comes up again. */
  stopFaults(): void;
  /** Whether all coordinators are up. */
  readonly isUp: boolean;
  /** Runs after the last command: a final power loss where there is a disk, then a check of what remains. */
  finish(): Promise<void>;
}

export async function openInstance(
  process: SimProcess,
  store: Store,
  options: Pick<CoordinatorOptions, 'limits'> & { blobs: Blobs; credentials: CredentialRegistry },
): Promise<CoordinatorInstance> {
  const { credentials, ...rest } = options;
  const checked: Store = {
    ...store,
    commit: (transactions) => {
      credentials.checkCommit(process, transactions);
      return store.commit(transactions);
    },
  };
  const environment = process.environment();
  const coordinator = await Coordinator.open({ store: checked, environment, ...rest });
  return { process, store, coordinator };
}

/** Wraps a store to report its commits, for each project in the order in which they were requested. */
export function observeCommits(store: Store, listener: CommitListener): Store {
  const lastCommits = new Map<string, Promise<unknown>>();
  const commitAndNotify = async (transactions: readonly Transaction[], before: Promise<unknown>) => {
    listener.onBegin?.(transactions);
    try {
      const outcomes = await store.commit(transactions);
      await before;
      listener.onCommitted(transactions, outcomes);
      return outcomes;
    } finally {
      listener.onEnd?.();
    }
  };
  return {
    capabilities: store.capabilities,
    commit: (transactions) => {
      const project = `${transactions[0]?.tenant_id}/${transactions[0]?.project_id}`;
      const outcomes = commitAndNotify(transactions, lastCommits.get(project) ?? Promise.resolve());
      lastCommits.set(
        project,
        outcomes.catch(() => {}),
      );
      return outcomes;
    },
    heads: (project, subjects) => store.heads(project, subjects),
    scanHeads: (project, page) => store.scanHeads(project, page),
    events: (project, query) => store.events(project, query),
    redact: (project, events) => store.redact(project, events),
    project: (project) => store.project(project),
    projects: (tenantId) => store.projects(tenantId),
    countPermits: (tenantId, scope) => store.countPermits(tenantId, scope),
    now: () => store.now(),
    meta: () => store.meta(),
    close: () => store.close(),
  };
}

export interface CommitListener {
  onBegin?(units: readonly Transaction[]): void;
  onEnd?(): void;
  onCommitted(units: readonly Transaction[], outcomes: readonly CommitOutcome[]): void;
}
