import type { EventEnvelope } from '../../core/events/envelope.js';
import type { HeadTable } from '../../core/heads/head-table.js';
import { applyInOrder } from '../apply-in-order.js';
import type { Blobs } from '../blobs.js';
import { type ProcessClock, SteadyClock, systemClock } from '../clock.js';
import { StoreImage } from '../memory/store-image.js';
import { pageOfProjects } from '../project-order.js';
import {
  type CommitOutcome,
  type DurableListener,
  type EventQuery,
  type LogStore,
  type ProjectKey,
  type ProjectRow,
  type ProjectsWithPermitsPage,
  StoreBroken,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  StoreRefused,
  type Transaction,
  type WritableLog,
  withRaisedIncarnation,
} from '../store.js';
import { AppendQueue } from './append-queue.js';
import {
  eventsByPosition,
  metaOf,
  newMeta,
  recordFromText,
  restoreTransaction,
  type StoreRecord,
  storedTransactionOf,
  textOfRecord,
  withRedacted,
} from './records.js';

/** The storage of a log with one writer: a list of texts. The store makes one call at a time. */
export interface RecordLog {
  /** All records, in the order in which they were appended. */
  read(): AsyncIterable<string> | Iterable<string>;
  /** Appends records, durable when the promise resolves. After a crash, the log may have only the first few of them. */
  append(records: readonly string[]): Promise<void>;
  /** Replaces all records, or none: retention redacts old ones. Durable when the promise resolves. */
  replaceAll(records: readonly string[]): Promise<void>;
  /** Releases the log, so that another process may open it. */
  close(): Promise<void>;
}

export interface CustomStoreOptions {
  /** The name of the store in messages and metrics. */
  readonly name: string;
  /** Where large results are kept. Absent: in the place that `GENESIS_BLOBS` names. */
  readonly blobs?: Blobs;
  readonly clock?: ProcessClock;
}

/**
 * Makes a store from a log with one writer. The caller ensures that no other process has the log open. The content of
 * the log is read when the store is opened, and kept in memory.
 */
export async function openLogStore(log: RecordLog, options: CustomStoreOptions): Promise<CustomLogStore> {
  try {
    const image = new StoreImage();
    const clock = new SteadyClock(options.clock ?? systemClock);
    let meta: StoreMeta | null = null;
    let recordNumber = 0;
    for await (const text of log.read()) {
      recordNumber += 1;
      const record = parseRecord(text, recordNumber);
      if (record.kind === 'meta') meta = metaOf(record);
      if (record.kind === 'transaction') restoreTransaction(image, clock, record);
    }
    if (meta === null) {
      meta = newMeta();
      await log.append([textOfRecord({ kind: 'meta', ...meta })]);
    }
    return new CustomLogStore(log, options, image, clock, meta);
  } catch (error) {
    await log.close();
    throw error;
  }
}

export class CustomLogStore implements LogStore {
  readonly capabilities: StoreCapabilities;
  readonly blobs: Blobs | undefined;
  readonly broken: Promise<StoreBroken>;
  private readonly queue: AppendQueue;
  private closing: Promise<void> | null = null;

  constructor(
    private readonly log: RecordLog,
    { name, blobs }: CustomStoreOptions,
    private readonly image: StoreImage,
    private readonly clock: SteadyClock,
    private storeMeta: StoreMeta,
  ) {
    this.blobs = blobs;
    this.capabilities = { name, clock: 'process', single_writer: true, commits_at_once: 4, durable: true };
    this.queue = new AppendQueue((records) => log.append(records));
    this.broken = this.queue.broken;
  }

  commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    return this.resultWhenDurable(() => {
      const nowMs = this.clock.now();
      return applyInOrder(transactions, (transaction) => this.apply(transaction, nowMs));
    });
  }

  async openLog(projectKey: ProjectKey): Promise<WritableLog> {
    this.assertOpen();
    const { ledger } = this.image.open(projectKey);
    const apply = (transaction: Transaction, nowMs: number) => this.apply(transaction, nowMs);
    return {
      get position(): number {
        return ledger.position;
      },
      get rules_seq(): number {
        return ledger.rules_seq;
      },
      get heads(): HeadTable {
        return ledger.heads;
      },
      // A failed write breaks the whole store, so a log is never reloaded.
      reload_count: 0,
      now: () => this.clock.now(),
      apply,
      durable: () => this.queue.durable(),
      // No listener is called: the audit reads the events instead.
      set onDurable(_: DurableListener | null) {},
    };
  }

  heads(projectKey: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    return this.resultWhenDurable(() => this.image.heads(projectKey, subjects));
  }

  scanHeads(projectKey: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    return this.resultWhenDurable(() => this.image.scanHeads(projectKey, page));
  }

  events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return this.resultWhenDurable(() => this.image.events(projectKey, query));
  }

  project(projectKey: ProjectKey): Promise<ProjectRow | null> {
    return this.resultWhenDurable(() => this.image.project(projectKey));
  }

  projects(tenantId: string): Promise<string[]> {
    return this.resultWhenDurable(() => this.image.projects(tenantId));
  }

  tenantIds(): Promise<string[]> {
    return this.resultWhenDurable(() => this.image.tenantIds());
  }

  countPermits(tenantId: string, scope: string): Promise<number> {
    return this.resultWhenDurable(() => this.image.countPermits(tenantId, scope, this.clock.now()));
  }

  projectsWithPermits({ after, limit }: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    return this.resultWhenDurable(() => pageOfProjects(this.image.projectsWithPermits(), after, limit));
  }

  now(): Promise<number> {
    return this.resultWhenDurable(() => this.clock.now());
  }

  meta(): Promise<StoreMeta> {
    return this.resultWhenDurable(() => this.storeMeta);
  }

  async redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    this.assertOpen();
    if (events.length === 0) return;
    await this.queue.run(() => this.rewrite(projectKey, eventsByPosition(events)));
    this.image.redact(projectKey, events);
  }

  async raiseIncarnation(incarnation: number): Promise<StoreMeta> {
    this.assertOpen();
    await this.queue.run(async () => {
      if (incarnation <= this.storeMeta.incarnation) return;
      const meta = withRaisedIncarnation(this.storeMeta, incarnation);
      await this.log.append([textOfRecord({ kind: 'meta', ...meta })]);
      this.storeMeta = meta;
    });
    return this.storeMeta;
  }

  close(): Promise<void> {
    this.closing ??= this.queue
      .durable()
      .catch(() => {})
      .then(() => this.log.close());
    return this.closing;
  }

  /** Computes a result from memory, and resolves to it when everything applied so far is durable. */
  private async resultWhenDurable<T>(compute: () => T): Promise<T> {
    this.assertOpen();
    const result = compute();
    await this.queue.durable();
    return result;
  }

  private apply(transaction: Transaction, nowMs: number): CommitOutcome {
    this.assertOpen();
    const result = this.image.apply(transaction, nowMs);
    const record = storedTransactionOf(transaction, result, '', nowMs);
    if (record !== null) this.queue.add(textOfRecord(record));
    return result.outcome;
  }

  private async rewrite(projectKey: ProjectKey, redacted: ReadonlyMap<number, EventEnvelope>): Promise<void> {
    const records: string[] = [];
    for await (const text of this.log.read()) {
      const replacement = withRedacted(parseRecord(text, records.length + 1), projectKey, redacted);
      records.push(replacement === null ? text : textOfRecord(replacement));
    }
    await this.log.replaceAll(records);
  }

  private assertOpen(): void {
    if (this.closing !== null) throw new StoreBroken('The store is closed. Reopen it to continue.');
    this.queue.assertUsable();
  }
}

function parseRecord(text: string, recordNumber: number): StoreRecord {
  const record = recordFromText(text);
  if (record !== null) return record;
  throw new StoreRefused(
    `Record ${recordNumber} of the log is not a valid record. Restore the log from a backup.`,
  );
}
