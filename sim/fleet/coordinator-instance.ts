import type { Blobs } from '../../src/coordinator/index.js';
import { Coordinator, type CoordinatorOptions } from '../../src/coordinator/index.js';
import {
  type CommitOutcome,
  type DurableListener,
  isLogStore,
  type LogStep,
  type LogStore,
  type ProjectKey,
  type Store,
  type Transaction,
  type WritableLog,
} from '../../src/stores/store.js';
import { transactionOf } from '../../src/stores/transaction.js';
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
  /** The coordinator with this number; null while it is down. */
  instanceAt(index: number): CoordinatorInstance | null;
  readonly size: number;
  readonly blobs: Blobs;
  readonly incarnation: number;
  /** Starts the coordinators and the faults of the scenario. */
  start(): void;
  /** Stops all faults; processes that are down start again. */
  stopFaults(): void;
  /** Whether all coordinators are up. */
  readonly isUp: boolean;
  /** Runs after the last command: simulates a final power loss if there is a disk, and checks what remains. */
  finish(): Promise<void>;
}

export async function openInstance(
  process: SimProcess,
  store: Store,
  options: Pick<CoordinatorOptions, 'limits' | 'audit'> & { blobs: Blobs; credentials: CredentialRegistry },
): Promise<CoordinatorInstance> {
  const { credentials, ...coordinatorOptions } = options;
  const checkCredentials = (transactions: readonly Transaction[]): void =>
    credentials.checkCommit(process, transactions);
  const checkedStore: Store = {
    ...store,
    commit: (transactions) => {
      checkCredentials(transactions);
      return store.commit(transactions);
    },
    ...(isLogStore(store)
      ? openLogWith(store, (log, key) => wrapLog(log, key, { onAttempt: checkCredentials }))
      : {}),
  };
  const environment = process.environment();
  const coordinator = await Coordinator.open({ store: checkedStore, environment, ...coordinatorOptions });
  return { process, store, coordinator };
}

const openLogWith = (
  store: LogStore,
  wrap: (log: WritableLog, key: ProjectKey) => WritableLog,
): Pick<LogStore, 'openLog'> => ({
  openLog: async (key) => wrap(await store.openLog(key), key),
});

interface AppliedTransaction {
  readonly transaction: Transaction;
  readonly outcome: CommitOutcome;
}

interface LogHooks {
  /** A transaction is about to be applied. A step counts as one transaction. */
  onAttempt?(transactions: readonly Transaction[]): void;
  onApplied?(applied: AppliedTransaction): void;
  /** Returns the promise that the coordinator awaits in place of `written`. */
  onStepApplied?(applied: AppliedTransaction, written: Promise<void>): Promise<void>;
  /** Waits in place of `log.durable()`. */
  waitUntilDurable?(wait: () => Promise<void>): Promise<void>;
}

function wrapLog(log: WritableLog, key: ProjectKey, hooks: LogHooks): WritableLog {
  return {
    get position() {
      return log.position;
    },
    get rules_seq() {
      return log.rules_seq;
    },
    get heads() {
      return log.heads;
    },
    get reload_count() {
      return log.reload_count;
    },
    now: () => log.now(),
    apply: (transaction, nowMs) => {
      hooks.onAttempt?.([transaction]);
      const outcome = log.apply(transaction, nowMs);
      hooks.onApplied?.({ transaction, outcome });
      return outcome;
    },
    applyStep: (step, now_ms) => {
      const transaction = transactionOfStep(key, step);
      hooks.onAttempt?.([transaction]);
      const written = log.applyStep?.(step, now_ms) ?? null;
      if (written === null) return null;
      const { position, rules_seq } = log;
      const outcome: CommitOutcome = { kind: 'committed', positions: [position], rules_seq, now_ms };
      return hooks.onStepApplied?.({ transaction, outcome }, written) ?? written;
    },
    durable: () => hooks.waitUntilDurable?.(() => log.durable()) ?? log.durable(),
    set onDurable(onDurable: DurableListener | null) {
      log.onDurable = onDurable;
    },
  };
}

/** The transaction with the same changes as the step. */
const transactionOfStep = (key: ProjectKey, { event, head, request, ...permits }: LogStep): Transaction =>
  transactionOf(key, {
    swaps: [{ subject: head.subject, expected_seq: head.seq - 1, head, events: [event] }],
    requests: request === null ? [] : [{ ...request, keep: true }],
    ...permits,
  });

/** Steps that one write makes durable, with nothing else between them. */
interface StepGroup {
  readonly written: Promise<void>;
  readonly steps: AppliedTransaction[];
  readonly reported: Promise<void>;
}

/** Reports what was applied to a log once it is durable, in the order of the log. */
function observeLog(log: WritableLog, key: ProjectKey, listener: CommitListener): WritableLog {
  let unreported: AppliedTransaction[] = [];
  let lastGroup: StepGroup | null = null;
  let lastReport: Promise<unknown> = Promise.resolve();
  const reportAfter = (wait: () => Promise<void>, batch: readonly AppliedTransaction[]): Promise<void> => {
    const previousReport = lastReport;
    const report = async () => {
      listener.onBegin?.();
      try {
        await wait();
        await previousReport;
        listener.onCommitted(
          batch.map(({ transaction }) => transaction),
          batch.map(({ outcome }) => outcome),
        );
      } finally {
        listener.onEnd?.();
      }
    };
    const reported = report();
    lastReport = reported.catch(() => {});
    return reported;
  };
  return wrapLog(log, key, {
    onAttempt: (transactions) => listener.onAttempt?.(transactions),
    onApplied: (transaction) => {
      unreported.push(transaction);
      lastGroup = null;
    },
    onStepApplied: (step, written) => {
      if (lastGroup?.written !== written) {
        const steps: AppliedTransaction[] = [];
        lastGroup = { written, steps, reported: reportAfter(() => written, steps) };
      }
      lastGroup.steps.push(step);
      return lastGroup.reported;
    },
    waitUntilDurable: (wait) => {
      const batch = unreported;
      unreported = [];
      return batch.length === 0 ? wait() : reportAfter(wait, batch);
    },
  });
}

/** Wraps a store to report its commits, for each project in the order in which they were requested. */
export function observeCommits(store: Store, listener: CommitListener): Store {
  const lastCommits = new Map<string, Promise<unknown>>();
  const commitAndNotify = async (transactions: readonly Transaction[], previousCommit: Promise<unknown>) => {
    listener.onAttempt?.(transactions);
    listener.onBegin?.();
    try {
      const outcomes = await store.commit(transactions);
      await previousCommit;
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
    heads: (projectKey, subjects) => store.heads(projectKey, subjects),
    scanHeads: (projectKey, page) => store.scanHeads(projectKey, page),
    events: (projectKey, query) => store.events(projectKey, query),
    redact: (projectKey, events) => store.redact(projectKey, events),
    project: (projectKey) => store.project(projectKey),
    projects: (tenantId) => store.projects(tenantId),
    tenantIds: () => store.tenantIds(),
    countPermits: (tenantId, scope) => store.countPermits(tenantId, scope),
    projectsWithPermits: (page) => store.projectsWithPermits(page),
    now: () => store.now(),
    meta: () => store.meta(),
    raiseIncarnation: (incarnation) => store.raiseIncarnation(incarnation),
    close: () => store.close(),
    ...(isLogStore(store) ? openLogWith(store, (log, key) => observeLog(log, key, listener)) : {}),
  };
}

interface CommitListener {
  /** The store receives these transactions. */
  onAttempt?(transactions: readonly Transaction[]): void;
  /** A write begins. It may never return. */
  onBegin?(): void;
  onEnd?(): void;
  onCommitted(transactions: readonly Transaction[], outcomes: readonly CommitOutcome[]): void;
}
