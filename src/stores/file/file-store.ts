import { randomBytes } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { applyInOrder } from '../apply-in-order.js';
import { FUTURE_MS_MAX, type ProcessClock, SteadyClock, systemClock } from '../clock.js';
import { pageOfProjects } from '../project-order.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ForeignAccess,
  type FoundDamage,
  LogDamaged,
  type LogStore,
  type ProjectKey,
  type ProjectRow,
  type ProjectsWithPermitsPage,
  StoreBroken,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  StoreUnavailable,
  type Transaction,
  type WritableLog,
} from '../store.js';
import { BlockWriters } from './block-writer.js';
import type { Disk, Lock } from './disk.js';
import { FileStoreLog } from './file-store-log.js';
import type { ForeignEvents } from './foreign-lines.js';
import { IdleProjects } from './idle-projects.js';
import { LOCK_FILE, StoreLayout } from './layout.js';
import { nodeDisk } from './node-disk.js';
import { OpenFiles } from './open-files.js';
import type { ProjectLog } from './project-log.js';
import { openStoreFile, StoreFile } from './store-file.js';
import { messageOf, strictDisk } from './strict-disk.js';
import { assertPermitsLoaded, TenantLogs, type TenantLogsOptions } from './tenant-logs.js';
import { GroupCommit } from './wal/group-commit.js';
import { replayWal } from './wal/replay-wal.js';
import { WriteAheadLog } from './wal/write-ahead-log.js';

export interface FileStoreOptions {
  /** The folder of the store; created if missing. */
  readonly root: string;
  /** The project whose log is the root's own `events.jsonl`. All other projects then have folders below the root. */
  readonly home?: ProjectKey;
  readonly untrusted_files?: ForeignAccess;
  /** Makes events of the lines that other programs append to the home project's log. Absent: the lines are only kept. */
  readonly foreign_events?: ForeignEvents;
  readonly disk?: Disk;
  readonly clock?: ProcessClock;
  /** Random bytes for a new store's secret. */
  readonly random?: (size: number) => Uint8Array;
  /** A log file that reaches this size is closed, and a new one is started. */
  readonly segment_bytes_max?: number;
  /** Maximum number of logs that are kept open. Others are opened for each access. Default: 256. */
  readonly open_files_max?: number;
  /**
   * Up to this many batches at a time are each synced in their own log; more share one sync of the write-ahead log.
   * Default: 4.
   */
  readonly own_syncs_max?: number;
  /** The write-ahead log is emptied when it reaches this size. */
  readonly wal_bytes_max?: number;
  /** Receives a sentence for the operator when the store has repaired or ignored something, or has found damage. */
  readonly onWarning?: (sentence: string) => void;
}

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
/** Node has four threads for the disk: more syncs than that wait for each other. */
const OWN_SYNCS_MAX = 4;
/** The write-ahead log is read into memory as a whole when the store is opened after a crash. */
const WAL_BYTES_MAX = 32 * 1024 * 1024;

/** Opens the store in a folder. Rejects with `StoreUnavailable` while another process has it open, or if the disk fails. */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const root = options.root.replace(/(?<=.)\/+$/, '');
  try {
    return await openStore({ ...options, root });
  } catch (error) {
    throw isDiskError(error)
      ? new StoreUnavailable(
          `The store in ${root} cannot be opened: ${messageOf(error)}. Check the folder and its disk.`,
        )
      : error;
  }
}

async function openStore(options: FileStoreOptions): Promise<FileStore> {
  const { root } = options;
  const disk = strictDisk(options.disk ?? nodeDisk);
  await disk.makeFolder(root);
  const lock = await lockStore(disk, root);
  try {
    const storedMeta = await openStoreFile(disk, root, options.random ?? randomBytes);
    const layout = new StoreLayout(root, options.home);
    await replayWal(disk, layout);
    // In a workspace, other programs write the logs too, so the store does not record which projects are idle.
    const idleProjects = options.home === undefined ? await IdleProjects.read(disk, layout) : null;
    return new FileStore(options, disk, lock, new StoreFile(disk, root, storedMeta), idleProjects);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Takes the lock of a store. Rejects with `StoreInUse` while another process has it. */
export async function lockStore(disk: Disk, root: string): Promise<Lock> {
  const lock = await disk.lock(`${root}/${LOCK_FILE}`);
  if (lock === null) throw await storeInUseError(disk, root);
  return lock;
}

/** Another process has the store open. */
export class StoreInUse extends StoreUnavailable {}

async function storeInUseError(disk: Disk, root: string): Promise<StoreInUse> {
  const owner = await disk.lockOwner(`${root}/${LOCK_FILE}`);
  const holder = owner === '' ? 'Another process' : `The process ${owner}`;
  return new StoreInUse(
    `${holder} has the store in ${root} open, and a log has one writer. ` +
      'Connect to that process, or stop it first: its lock is released as soon as it exits.',
  );
}

/** The embedded store: a folder with one readable log per project, and a single writer process. */
export class FileStore implements LogStore {
  readonly capabilities: StoreCapabilities;
  readonly home: ProjectKey | undefined;
  private readonly tenantPromises = new Map<string, Promise<TenantLogs>>();
  /** The tenants that are already open, so that a commit need not await a promise for each of its transactions. */
  private readonly openTenants = new Map<string, TenantLogs>();
  private readonly clock: SteadyClock;
  private readonly tenantLogsOptions: TenantLogsOptions;
  private readonly groups: GroupCommit;
  /** Tenants whose logs are damaged. They stay refused until the store is reopened: reading a log takes long. */
  private readonly refusedTenants = new Map<string, LogDamaged>();
  /** By file and line. */
  private readonly damages = new Map<string, FoundDamage>();
  private failure: StoreBroken | null = null;
  private resolveBroken!: (error: StoreBroken) => void;
  readonly broken = new Promise<StoreBroken>((resolve) => {
    this.resolveBroken = resolve;
  });
  private closing: Promise<void> | null = null;

  constructor(
    options: FileStoreOptions,
    disk: Disk,
    private readonly lock: Lock,
    private readonly storeFile: StoreFile,
    private readonly idleProjects: IdleProjects | null,
  ) {
    const { untrusted_files, home } = options;
    this.home = home;
    this.capabilities = {
      name: 'file',
      clock: 'process',
      single_writer: true,
      commits_at_once: 4,
      durable: true,
      ...(untrusted_files === undefined ? {} : { untrusted_files }),
    };
    this.clock = new SteadyClock(options.clock ?? systemClock);
    const warn = (sentence: string): void => options.onWarning?.(sentence);
    const onBroken = (error: StoreBroken): void => {
      this.failure ??= error;
      this.resolveBroken(this.failure);
    };
    // Other programs, such as git, read and replace a workspace's own log. It must be complete without a second file.
    const wal = home === undefined ? writeAheadLog(disk, options.root, storeFile) : null;
    this.groups = new GroupCommit(wal, {
      own_syncs_max: options.own_syncs_max ?? OWN_SYNCS_MAX,
      wal_bytes_max: options.wal_bytes_max ?? WAL_BYTES_MAX,
      warn,
      onBroken,
    });
    this.tenantLogsOptions = {
      layout: new StoreLayout(options.root, home),
      disk,
      now: () => this.clock.now(),
      segment_bytes_max: options.segment_bytes_max ?? SEGMENT_BYTES_MAX,
      open_files: new OpenFiles(options.open_files_max),
      writers: new BlockWriters(),
      groups: this.groups,
      ...(options.foreign_events === undefined ? {} : { foreign_events: options.foreign_events }),
      warn,
      onBroken,
      onDamage: (error, isServed) => this.reportDamage(error, isServed),
    };
  }

  commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    return this.unlessBroken(async () => {
      // Damage and unknown numbers of permits must refuse the commit before its first transaction is applied.
      await this.openLogs(transactions);
      this.assertOpen();
      const touchedLogs = new Set<ProjectLog | TenantLogs>();
      const nowMs = this.clock.now();
      const outcomes = applyInOrder(transactions, (transaction) => {
        const tenant = this.openTenants.get(transaction.tenant_id) as TenantLogs;
        const log = tenant.logs.get(transaction.project_id) as ProjectLog;
        const outcome = log.apply(transaction, nowMs);
        // The scope may be filled by another project, whose log must be durable too before the outcome is reported.
        touchedLogs.add(outcome.kind === 'full' ? tenant : log);
        return outcome;
      });
      await Promise.all([...touchedLogs].map((touched) => touched.durable()));
      return outcomes;
    });
  }

  private async openLogs(transactions: readonly Transaction[]): Promise<void> {
    for (const { tenant_id, project_id } of transactions) {
      if (this.refusedTenants.size > 0) this.assertServed(tenant_id);
      const tenant = this.openTenants.get(tenant_id) ?? (await this.tenant(tenant_id));
      if (!tenant.logs.has(project_id)) await this.openProject(tenant, { tenant_id, project_id });
    }
    for (const { tenant_id, permit_limits: permitLimits } of transactions) {
      if (permitLimits.length > 0) assertPermitsLoaded(this.openTenants.get(tenant_id) as TenantLogs);
    }
  }

  openLog({ tenant_id, project_id }: ProjectKey): Promise<WritableLog> {
    return this.unlessBroken(async () => {
      const tenant = await this.tenant(tenant_id);
      const log = await this.openProject(tenant, { tenant_id, project_id });
      return new FileStoreLog(tenant, log, {
        now: () => this.clock.now(),
        assertUsable: () => {
          this.assertOpen();
          if (this.refusedTenants.size > 0) this.assertServed(tenant_id);
        },
        assertIntact: () => {
          if (this.failure !== null) throw this.failure;
        },
      });
    });
  }

  importForeignLines(key: ProjectKey): Promise<boolean> {
    return this.unlessBroken(async () => (await this.logOf(key))?.importForeignLines() ?? false);
  }

  heads(key: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    return this.unlessBroken(
      async () => (await this.logOf(key))?.heads(subjects) ?? subjects.map(() => null),
    );
  }

  scanHeads(key: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    return this.unlessBroken(async () => (await this.logOf(key))?.scanHeads(page) ?? []);
  }

  events(key: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return this.unlessBroken(async () => (await this.logOf(key))?.events(query) ?? []);
  }

  redact(key: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    return this.unlessBroken(async () => (await this.logOf(key))?.redact(events));
  }

  project(key: ProjectKey): Promise<ProjectRow | null> {
    return this.unlessBroken(async () => (await this.logOf(key))?.row() ?? null);
  }

  projects(tenantId: string): Promise<string[]> {
    return this.unlessBroken(async () => {
      const tenant = await this.tenant(tenantId);
      const names = tenant.projects();
      await tenant.durable();
      return names;
    });
  }

  tenantIds(): Promise<string[]> {
    return this.unlessBroken(() => this.tenantLogsOptions.layout.tenantIds(this.tenantLogsOptions.disk));
  }

  damage(): readonly FoundDamage[] {
    return [...this.damages.values()];
  }

  countPermits(tenantId: string, scope: string): Promise<number> {
    return this.unlessBroken(async () => {
      const tenant = await this.tenant(tenantId);
      assertPermitsLoaded(tenant);
      const count = tenant.permits.count(scope, this.clock.now());
      await tenant.durable();
      return count;
    });
  }

  /** Opens the logs of the projects that are not known to be idle. A damaged tenant is left out, and reported. */
  projectsWithPermits({ after, limit }: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    return this.unlessBroken(async () => {
      const projectKeys: ProjectKey[] = [];
      for (const tenant_id of await this.tenantIds()) {
        const tenant = await this.tenant(tenant_id).catch((error) => {
          if (error instanceof LogDamaged) return null;
          throw error;
        });
        for (const project_id of tenant?.projectsWithPermits() ?? [])
          projectKeys.push({ tenant_id, project_id });
      }
      return pageOfProjects(projectKeys, after, limit);
    });
  }

  now(): Promise<number> {
    return this.unlessBroken(async () => this.clock.now());
  }

  meta(): Promise<StoreMeta> {
    const { incarnation, secret } = this.storeFile.meta;
    return this.unlessBroken(async () => ({ incarnation, secret }));
  }

  async raiseIncarnation(incarnation: number): Promise<StoreMeta> {
    await this.unlessBroken(() => this.storeFile.raiseIncarnation(incarnation));
    return this.meta();
  }

  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  private async closeAll(): Promise<void> {
    const tenants = await Promise.allSettled(this.tenantPromises.values());
    try {
      for (const tenant of tenants) if (tenant.status === 'fulfilled') await tenant.value.close();
      await this.writeIdleProjects();
      await this.groups.close(this.failure === null);
    } finally {
      await this.lock.release();
    }
  }

  private async writeIdleProjects(): Promise<void> {
    if (this.idleProjects === null || this.failure !== null || this.openTenants.size === 0) return;
    for (const tenant of this.openTenants.values()) tenant.recordIdle(this.idleProjects, this.clock.now());
    try {
      await this.idleProjects.write();
    } catch (error) {
      this.tenantLogsOptions.warn(
        `The list of idle projects could not be written (${messageOf(error)}). The next start therefore reads their logs. Check the disk.`,
      );
    }
  }

  private async tenant(tenantId: string): Promise<TenantLogs> {
    // A call that began before the store was closed must not open more files.
    this.assertOpen();
    this.assertServed(tenantId);
    const existing = this.tenantPromises.get(tenantId);
    if (existing !== undefined) return existing;
    const opening = this.openTenant(tenantId);
    this.tenantPromises.set(tenantId, opening);
    opening.catch(() => this.tenantPromises.delete(tenantId));
    return opening;
  }

  private async openTenant(tenantId: string): Promise<TenantLogs> {
    const opening = TenantLogs.open(tenantId, this.tenantLogsOptions, this.idleProjects);
    const tenant = await this.reportingDamage(opening);
    for (const log of tenant.logs.values()) this.followLogTime(tenantId, log.newest_ms);
    this.openTenants.set(tenantId, tenant);
    return tenant;
  }

  /** The log of a project, created if needed. */
  private async openProject(tenant: TenantLogs, { tenant_id, project_id }: ProjectKey): Promise<ProjectLog> {
    this.assertOpen();
    const isFirstUse = tenant.isClosedAndIdle(project_id);
    const log = await this.reportingDamage(tenant.openLog(project_id));
    if (isFirstUse) this.followLogTime(tenant_id, log.newest_ms);
    return log;
  }

  private async reportingDamage<T>(opening: Promise<T>): Promise<T> {
    try {
      return await opening;
    } catch (error) {
      if (error instanceof LogDamaged) this.reportDamage(error, false);
      throw error;
    }
  }

  /**
   * Moves the clock to the newest event of a log, so that time does not go back. But a log may come from elsewhere, and
   * one from the far future must not end every lease and every key of the store.
   */
  private followLogTime(tenantId: string, newestMs: number): void {
    if (newestMs <= this.clock.now() + FUTURE_MS_MAX) this.clock.advanceTo(newestMs);
    else {
      const { layout, warn } = this.tenantLogsOptions;
      warn(
        `A log of ${tenantId} in ${layout.root} has an event of ${new Date(newestMs).toISOString()}, which is in the ` +
          'future. Its time is ignored. Check the clock of the machine that wrote it.',
      );
    }
  }

  /** Null for a project to which nothing was written: a query creates nothing. */
  private async logOf({ tenant_id, project_id }: ProjectKey): Promise<ProjectLog | null> {
    const tenant = await this.tenant(tenant_id);
    if (tenant.isClosedAndIdle(project_id)) return this.openProject(tenant, { tenant_id, project_id });
    return tenant.logs.get(project_id) ?? null;
  }

  /** Reports each damaged line to the operator once. */
  private reportDamage(error: LogDamaged, isServed: boolean): void {
    const { tenant_id, file, line } = error.damage;
    const location = `${file}:${line}`;
    if (!isServed) this.refusedTenants.set(tenant_id, error);
    if (this.damages.has(location)) return;
    this.damages.set(location, { ...error.damage, isServed });
    const { layout, warn } = this.tenantLogsOptions;
    const consequence = isServed
      ? `The log of ${tenant_id} is damaged`
      : `The tenant ${tenant_id} is not served`;
    warn(`${consequence}. In ${layout.root}: ${error.message}`);
  }

  private assertServed(tenantId: string): void {
    const damageError = this.refusedTenants.get(tenantId);
    if (damageError !== undefined) throw damageError;
  }

  private assertOpen(): void {
    if (this.failure !== null) throw this.failure;
    if (this.closing !== null) throw new StoreBroken('The store is closed. Reopen it to continue.');
  }

  /** Once the store is broken, reports no results, not even of writes that still succeeded. */
  private async unlessBroken<T>(action: () => Promise<T>): Promise<T> {
    this.assertOpen();
    try {
      const result = await action();
      if (this.failure !== null) throw this.failure;
      return result;
    } catch (error) {
      throw isDiskError(error)
        ? new StoreUnavailable(`The disk returned an error: ${messageOf(error)}. Try again.`)
        : error;
    }
  }
}

const writeAheadLog = (disk: Disk, root: string, storeFile: StoreFile): WriteAheadLog =>
  new WriteAheadLog(disk, root, (hasWal) => storeFile.setHasWal(hasWal), storeFile.meta.has_wal);

const isDiskError = (error: unknown): boolean =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
