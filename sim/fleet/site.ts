import type { Blobs } from '../../src/coordinator/index.js';
import { Coordinator, type CoordinatorOptions } from '../../src/coordinator/index.js';
import type { Outcome, Store, Unit } from '../../src/stores/store.js';
import type { Credentials } from '../actors/credential.js';
import type { Process } from '../world/process.js';

/** A coordinator at work: the process it lives in and the store it speaks to. */
export interface Site {
  readonly process: Process;
  readonly store: Store;
  readonly coordinator: Coordinator;
}

/** Where agents send their commands, and what befalls it. */
export interface Fleet {
  /** The place to ask; null: nobody is there now. */
  site(number: number): Site | null;
  readonly size: number;
  readonly incarnation: number;
  /** Begins. Things go wrong from now on, as the scenario has it. */
  start(): void;
  /** From now on nothing goes wrong any more, and whatever is down comes up. */
  calm(): void;
  /** All is up. */
  readonly isUp: boolean;
  /** After the last command: one more loss of power where there is a disk, and then what is found. */
  finish(): Promise<void>;
}

export async function openSite(
  process: Process,
  store: Store,
  options: Pick<CoordinatorOptions, 'limits'> & { blobs: Blobs; credentials: Credentials },
): Promise<Site> {
  const { credentials, ...rest } = options;
  const checked: Store = {
    ...store,
    commit: (units) => {
      credentials.checkCommit(process, units);
      return store.commit(units);
    },
  };
  const environment = process.environment();
  const coordinator = await Coordinator.open({ store: checked, environment, ...rest });
  return { process, store, coordinator };
}

/** The same store, with somebody who hears what it confirms: of each project in the order in which it was asked. */
export function overheard(store: Store, hear: CommitHearing): Store {
  const latest = new Map<string, Promise<unknown>>();
  const told = async (units: readonly Unit[], before: Promise<unknown>) => {
    hear.began?.(units);
    try {
      const outcomes = await store.commit(units);
      await before;
      hear.committed(units, outcomes);
      return outcomes;
    } finally {
      hear.ended?.();
    }
  };
  return {
    capabilities: store.capabilities,
    commit: (units) => {
      const project = `${units[0]?.tenant_id}/${units[0]?.project_id}`;
      const outcomes = told(units, latest.get(project) ?? Promise.resolve());
      latest.set(
        project,
        outcomes.catch(() => {}),
      );
      return outcomes;
    },
    heads: (project, subjects) => store.heads(project, subjects),
    scanHeads: (project, page) => store.scanHeads(project, page),
    events: (project, query) => store.events(project, query),
    forget: (project, events) => store.forget(project, events),
    project: (project) => store.project(project),
    projects: (tenant_id) => store.projects(tenant_id),
    occupancy: (tenant_id, scope) => store.occupancy(tenant_id, scope),
    now: () => store.now(),
    meta: () => store.meta(),
    close: () => store.close(),
  };
}

export interface CommitHearing {
  began?(units: readonly Unit[]): void;
  ended?(): void;
  committed(units: readonly Unit[], outcomes: readonly Outcome[]): void;
}
