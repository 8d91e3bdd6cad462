import type { HeadTable } from '../../core/heads/head-table.js';
import type { CommitOutcome, DurableListener, LogStep, Transaction, WritableLog } from '../store.js';
import type { ProjectLog } from './project-log.js';
import { assertPermitsLoaded, type TenantLogs } from './tenant-logs.js';

interface StoreGuard {
  now(): number;
  /** Throws if the store is closed or broken, or the tenant's log is damaged. */
  assertUsable(): void;
  /** Throws if the store is broken. */
  assertIntact(): void;
}

/** A project's log for its writer. Checks that the store is usable, and after a `full` outcome waits for the tenant's logs. */
export class FileStoreLog implements WritableLog {
  /** Whether an outcome since the last `durable` was `full`: then the tenant's other logs must become durable too. */
  private hasFullOutcome = false;
  /** The last write that steps wait for, and the promise that `applyStep` returns for it. */
  private lastWrite: Promise<void> | null = null;
  private lastReport: Promise<void> | null = null;

  constructor(
    private readonly tenant: TenantLogs,
    private readonly log: ProjectLog,
    private readonly guard: StoreGuard,
  ) {}

  get position(): number {
    return this.log.position;
  }

  get rules_seq(): number {
    return this.log.ledger.rules_seq;
  }

  get heads(): HeadTable {
    return this.log.ledger.heads;
  }

  get reload_count(): number {
    return this.log.reloadCount;
  }

  set onDurable(listener: DurableListener | null) {
    this.log.onDurable = listener;
  }

  now(): number {
    return this.guard.now();
  }

  apply(transaction: Transaction, nowMs: number): CommitOutcome {
    this.guard.assertUsable();
    if (transaction.permit_limits.length > 0) assertPermitsLoaded(this.tenant);
    const outcome = this.log.apply(transaction, nowMs);
    if (outcome.kind === 'full') this.hasFullOutcome = true;
    return outcome;
  }

  applyStep(step: LogStep, nowMs: number): Promise<void> | null {
    this.guard.assertUsable();
    if (step.permit_limits.length > 0) assertPermitsLoaded(this.tenant);
    const written = this.log.applyStep(step, nowMs);
    if (written === null) return null;
    if (written !== this.lastWrite) {
      this.lastWrite = written;
      this.lastReport = written.then(() => this.guard.assertIntact());
    }
    return this.lastReport;
  }

  async durable(): Promise<void> {
    this.guard.assertIntact();
    const { hasFullOutcome } = this;
    this.hasFullOutcome = false;
    await (hasFullOutcome ? this.tenant.durable() : this.log.durable());
    // Once the store is broken, nothing is reported, not even a write that still succeeded.
    this.guard.assertIntact();
  }
}
