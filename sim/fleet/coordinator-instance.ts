import type { Blobs } from '../../src/coordinator/index.js';
import { Coordinator, type CoordinatorOptions } from '../../src/coordinator/index.js';
import type { CommitOutcome, Store, Transaction } from '../../src/stores/store.js';
import type { CredentialRegistry } from '../actors/credential.js';
import type { SimProcess } from '../world/process.js';

/** A coordinator at work: the process it lives in and the store it speaks to. */
export interface CoordinatorInstance {
  readonly process: SimProcess;
  readonly store: Store;
  readonly coordinator: Coordinator;
}

/** Where agents send their commands, and what befalls it. */
export interface SimFleet {
  /** The place to ask; null: nobody is there now. */
  instanceAt(number: number): CoordinatorInstance | null;
  readonly size: number;
  readonly incarnation: number;
  /** Begins. Things go wrong from now on, as the scenario has it. */
  start(): void;
  /** From now on nothing goes wrong any more, and whatever is down comes up. */
  stopFaults(): void;
  /** All is up. */
  readonly isUp: boolean;
  /** After the last command: one more loss of power where there is a disk, and then what is found. */
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

/** The same store, with somebody who hears what it confirms: of each project in the order in which it was asked. */
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
