import { MemoryBlobs } from '../../src/coordinator/index.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { WAL_FILE } from '../../src/stores/file/layout.js';
import { frameAt } from '../../src/stores/file/wal/frame.js';
import {
  LogDamaged,
  type Store,
  StoreBroken,
  StoreUnavailable,
  type Transaction,
} from '../../src/stores/store.js';
import { ClockRateCheck } from '../checks/clock-rate.js';
import { DiskImage } from '../world/disk-image.js';
import { SimProcess } from '../world/process.js';
import { type DiskFaults, SimDisk } from '../world/sim-disk.js';
import {
  type CoordinatorInstance,
  observeCommits,
  openInstance,
  type SimFleet,
} from './coordinator-instance.js';
import { damageLog } from './log-damage.js';
import { LossOperator } from './loss-operator.js';
import { SimAudit, writesCheckpoint } from './sim-audit.js';
import { type SimContext, scheduleRecurring } from './sim-context.js';

const ROOT = '/data';
/**
 * While faults are on, a restart compares only the last events of each log. Comparing the whole log every time would take
 * longer than everything else, so only restarts after the faults do that.
 */
const TAIL_EVENTS_COMPARED = 50;
const COMMIT_MS = 10;
const UNFINISHED_SNAPSHOT_PATH = /\/snapshots\/unfinished$/;
const SNAPSHOT_PATH = /\/snapshots\/\d+$/;
const SNAPSHOT_MS = 20;
const SNAPSHOT_AMBUSH_CHANCE = 0.3;
const CHECKPOINT_AMBUSH_CHANCE = 0.1;
const STALL_MAX_MS = 1000;
const LOG_PATH = /\/events\.jsonl$/;
const LOG_STALL_CHANCE = 0.3;
const LOG_STALL_MS = 3000;
const AMBUSH_EVERY_LEASES = 8;
const CLOCK_STEP_MAX_MS = 10 * 60_000;

/** One coordinator on the real file store, with a simulated disk that loses unsynced data. */
export class FileFleet implements SimFleet {
  readonly size = 1;
  incarnation = 1;
  private runningInstance: CoordinatorInstance | null = null;
  private process: SimProcess | null = null;
  private bootCount = 0;
  private areFaultsOn = true;
  private commitsUnderWay = 0;
  /** Whether the process will crash during the next commit. */
  private willCrashOnNextCommit = false;
  /** Whether syncs of the log are slow now. They are slow only while a snapshot is being written. */
  private isLogStalled = false;
  /** Whether the process will crash a second time soon after its restart. */
  private willCrashAfterRestart = false;
  /** Whether the log was damaged before the last boot. The damage is repaired when the process of that boot ends. */
  private isDamaged = false;
  private diskImage = new DiskImage();
  private readonly lossOperator: LossOperator;
  private readonly audit: SimAudit;
  readonly blobs = new MemoryBlobs();
  private readonly rng;
  private readonly ambushRng;
  private readonly faults: DiskFaults;

  constructor(private readonly context: SimContext) {
    const { world, scenario, coverage } = context;
    this.rng = world.rng.fork('file fleet');
    this.ambushRng = world.rng.fork('ambush');
    this.audit = new SimAudit(context);
    this.lossOperator = new LossOperator(context, this.audit);
    this.diskImage.makeFolder(ROOT);
    this.diskImage.syncFolder(this.diskImage.root);
    this.faults = {
      isFull: false,
      write_failure_chance: scenario.rates.write_failure_chance,
      sync_failure_chance: scenario.rates.sync_failure_chance,
      stallMs: (path) => this.stallMs(path),
      onFault: (what) => coverage.hit(what),
      onAppend: (path, bytes) => {
        if (path.endsWith(WAL_FILE) && isOfSeveralProjects(bytes))
          coverage.hit('batches of several projects in one sync');
      },
      onPathAppeared: (folder) => {
        if (UNFINISHED_SNAPSHOT_PATH.test(folder)) this.maybeStallLog();
        if (SNAPSHOT_PATH.test(folder)) this.maybeCrashAfterSnapshot();
      },
    };
  }

  get isUp(): boolean {
    return this.runningInstance !== null;
  }

  instanceAt(): CoordinatorInstance | null {
    return this.runningInstance;
  }

  start(): void {
    const { rates, lease_seconds } = this.context.scenario;
    const leaseMs = lease_seconds * 1000;
    const schedule = (name: string, meanMs: number | null, action: () => void): void =>
      scheduleRecurring(this.context, name, meanMs, action, () => this.areFaultsOn);
    this.boot();
    this.audit.start();
    this.scheduleRestore(rates.restore_at_ms);
    schedule('crash', rates.crash_every_ms, () => this.stopOrCrash());
    schedule('ambush', this.context.scenario.has('ambush') ? leaseMs * AMBUSH_EVERY_LEASES : null, () => {
      this.willCrashOnNextCommit = true;
    });
    schedule('freeze', rates.freeze_every_ms, () =>
      this.process?.freeze(leaseMs * this.rng.between(0.1, 10) ** 0.5),
    );
    schedule('clock step', rates.clock_step_every_ms, () =>
      this.process?.stepWallClock(this.rng.between(-CLOCK_STEP_MAX_MS, CLOCK_STEP_MAX_MS)),
    );
    schedule('disk full', rates.disk_full_every_ms, () => this.fillDisk(leaseMs * this.rng.between(0.05, 1)));
    schedule('rival', rates.rival_every_ms, () => void this.openSecondWriter());
  }

  stopFaults(): void {
    this.areFaultsOn = false;
    this.willCrashOnNextCommit = false;
    this.audit.stopFaults();
    this.faults.isFull = false;
    this.faults.write_failure_chance = 0;
    this.faults.sync_failure_chance = 0;
  }

  async finish(): Promise<void> {
    this.crash(true);
    await this.open(this.newProcess(), false);
    for (const projectKey of this.context.projects)
      this.audit.check(projectKey, this.context.monitor.projectMonitor(projectKey).events);
  }

  private scheduleRestore(atMs: number | null): void {
    if (atMs === null) return;
    const { world } = this.context;
    world.schedule(atMs / 2, 'backup', () => {
      // Restoring a damaged copy would damage the log again, and nothing would repair it.
      if (this.isDamaged) return;
      const backup = this.diskImage.copy();
      world.schedule(atMs / 2, 'restore', () => this.restore(backup));
    });
  }

  /** An old disk is copied back. An operator accepts the loss before the server starts again. */
  private restore(backup: DiskImage): void {
    if (!this.areFaultsOn) return;
    this.context.world.trace('an old disk is copied back');
    this.crash(false);
    this.diskImage = backup;
    this.incarnation += 1;
    this.lossOperator.begin(this.incarnation);
    this.bootLater();
  }

  /** Sometimes crashes around the commit of a checkpoint: neither a crash before it nor one after it may lose anything. */
  private maybeCrashAtCheckpoint(transactions: readonly Transaction[]): void {
    const { scenario, coverage } = this.context;
    if (!this.areFaultsOn || !scenario.has('ambush') || !writesCheckpoint(transactions)) return;
    if (!this.ambushRng.chance(CHECKPOINT_AMBUSH_CHANCE)) return;
    coverage.hit('crash at checkpoint');
    this.crashAfter(this.ambushRng.between(0, COMMIT_MS), scenario.rates.power_chance);
  }

  private fillDisk(durationMs: number): void {
    this.faults.isFull = true;
    this.context.world.schedule(durationMs, 'disk has room again', () => {
      this.faults.isFull = false;
    });
  }

  /** Crashes, or occasionally stops cleanly. */
  private stopOrCrash(): void {
    const instance = this.runningInstance;
    if (instance === null || instance.process.isFrozen || this.rng.chance(0.8)) {
      this.crash(this.rng.chance(this.context.scenario.rates.power_chance));
      this.bootLater();
      return;
    }
    this.runningInstance = null;
    instance.coordinator.close();
    void instance.store.close().then(
      () => {
        instance.process.kill();
        this.bootLater();
      },
      () => this.onStoreBroken(instance.process),
    );
  }

  /** Crashes on purpose: commits take so little of the simulated time that random crashes almost never hit one. */
  private maybeCrashDuringCommit(): void {
    if (!this.willCrashOnNextCommit) return;
    this.willCrashOnNextCommit = false;
    this.willCrashAfterRestart = true;
    this.crashAfter(this.ambushRng.between(0, COMMIT_MS), this.context.scenario.rates.power_chance / 2);
  }

  /** Sometimes crashes after a snapshot: it is valid as soon as it has its name, whatever happens to the log afterwards. */
  private maybeCrashAfterSnapshot(): void {
    const { scenario, coverage } = this.context;
    const chance = this.isLogStalled ? 1 : SNAPSHOT_AMBUSH_CHANCE;
    this.isLogStalled = false;
    if (!this.areFaultsOn || !scenario.has('ambush') || !this.ambushRng.chance(chance)) return;
    coverage.hit('crash after snapshot');
    this.crashAfter(this.ambushRng.between(0, SNAPSHOT_MS), scenario.rates.power_chance);
  }

  private maybeStallLog(): void {
    this.isLogStalled =
      this.areFaultsOn && this.context.scenario.has('stall') && this.ambushRng.chance(LOG_STALL_CHANCE);
  }

  private stallMs(path: string): number {
    if (!this.areFaultsOn) return 0;
    if (this.isLogStalled && LOG_PATH.test(path)) return LOG_STALL_MS;
    const isStalled = this.rng.chance(this.context.scenario.rates.stall_chance);
    return isStalled ? this.rng.between(0, STALL_MAX_MS) : 0;
  }

  private crashAfter(afterMs: number, powerChance: number): void {
    const { process } = this;
    this.context.world.schedule(afterMs, 'crash', () => {
      if (process !== this.process || !process?.isAlive || !this.areFaultsOn) return;
      this.crash(this.ambushRng.chance(powerChance));
      this.bootLater();
    });
  }

  private crash(isPowerLoss: boolean): void {
    if (this.process?.isAlive && this.commitsUnderWay > 0) this.context.coverage.hit('crash during commit');
    this.process?.kill();
    this.runningInstance = null;
    this.commitsUnderWay = 0;
    this.isLogStalled = false;
    if (!isPowerLoss) return;
    this.context.world.trace('the power fails');
    this.diskImage.losePower(this.rng);
  }

  /** The store reported that it cannot continue: the process stops. */
  private onStoreBroken(process: SimProcess): void {
    if (process !== this.process || !process.isAlive) return;
    this.crash(this.rng.chance(this.context.scenario.rates.power_chance));
    this.bootLater();
  }

  private bootLater(): void {
    const afterMs = this.rng.between(50, this.context.scenario.lease_seconds * 1000);
    this.context.world.schedule(afterMs, 'boot', () => this.boot());
  }

  private boot(): void {
    if (this.process?.isAlive) return;
    const process = this.newProcess();
    const repair =
      this.areFaultsOn && this.rng.chance(this.context.scenario.rates.rot_chance)
        ? this.damageSomeLog()
        : null;
    // The damage is repaired when the process ends: it ends because its store refuses to open, or dies before that.
    this.isDamaged = repair !== null;
    process.onKilled(() => {
      repair?.();
      this.isDamaged = false;
    });
    this.open(process, repair !== null).then(
      () => {
        if (repair === null) return;
        this.context.world.reportViolation('INV-20', 'a damaged log was opened without an error');
      },
      (error) => this.onOpenRefused(process, error, repair !== null),
    );
  }

  private newProcess(): SimProcess {
    this.bootCount += 1;
    const name = `coordinator-${this.bootCount}`;
    const { clock_tick_ms } = this.context.scenario.rates;
    this.process = new SimProcess(this.context.world, name, this.rng.fork(name), clock_tick_ms);
    return this.process;
  }

  private async open(process: SimProcess, isDamaged: boolean): Promise<void> {
    const { scenario, monitor, coverage, credentials } = this.context;
    const store = await this.openStore(process);
    if (!isDamaged) await this.lossOperator.onOpened(store);
    for (const projectKey of this.context.projects) {
      const after = this.areFaultsOn
        ? Math.max(0, monitor.projectMonitor(projectKey).events.length - TAIL_EVENTS_COMPARED)
        : 0;
      const events = await store.events(projectKey, { after, limit: 1_000_000 });
      if (isDamaged) continue;
      monitor.onRecovered(projectKey, after, events);
      monitor.checkHeads(projectKey, await store.scanHeads(projectKey, { after: null, limit: 1_000_000 }));
    }
    const clockRate = new ClockRateCheck(this.context.world, scenario.rates.clock_tick_ms, await store.now());
    const observedStore = observeCommits(store, {
      onAttempt: (transactions) => {
        monitor.onCommitAttempt(transactions);
        this.maybeCrashAtCheckpoint(transactions);
      },
      onBegin: () => {
        this.commitsUnderWay += 1;
        this.maybeCrashDuringCommit();
      },
      onEnd: () => {
        this.commitsUnderWay -= 1;
      },
      onCommitted: (transactions, outcomes) => {
        clockRate.check(outcomes);
        monitor.onCommitted(transactions, outcomes);
      },
    });
    const instance = await openInstance(process, observedStore, {
      limits: scenario.limits,
      blobs: this.blobs,
      credentials,
      audit: this.audit.optionsOf('server'),
    });
    if (!isDamaged) await this.lossOperator.accept(instance.coordinator);
    this.runningInstance = instance;
    // What was recovered and reported must survive a power loss that comes before anything else is written.
    if (this.willCrashAfterRestart)
      this.crashAfter(this.ambushRng.between(0, 100), scenario.rates.power_chance);
    this.willCrashAfterRestart = false;
    if (this.diskImage.folderAt(`${ROOT}/t1/p/snapshots`) !== null) coverage.hit('snapshot written');
  }

  private async openStore(process: SimProcess): Promise<Store> {
    const { world, scenario, coverage } = this.context;
    if ((this.walContent()?.length ?? 0) > 0) coverage.hit('write-ahead log replayed');
    const random = this.rng.fork(`secret ${process.name}`);
    const store = await openFileStore({
      root: ROOT,
      disk: new SimDisk(this.diskImage, process, this.faults, this.rng.fork(`disk ${process.name}`)),
      clock: process.clock,
      random: (size) => random.bytes(size),
      segment_bytes_max: scenario.segment_bytes_max,
      own_syncs_max: scenario.own_syncs_max,
      wal_bytes_max: scenario.wal_bytes_max,
      onWarning: (sentence) => {
        if (sentence.includes('left unfinished')) coverage.hit('torn tail cut');
        world.trace(`warning: ${sentence}`);
        // A snapshot gets its name only once it is completely on disk, and no simulated fault damages snapshots.
        if (sentence.includes('is not used')) world.reportViolation('INV-20', sentence);
      },
    });
    void store.broken.then(() => process.runAfter(1, 'stops', () => this.onStoreBroken(process)));
    return store;
  }

  /** A failed open is expected if the log is damaged or the disk failed, and a violation otherwise. */
  private onOpenRefused(process: SimProcess, error: unknown, isDamaged: boolean): void {
    const { world, coverage } = this.context;
    world.trace(`not opened: ${String(error)}`);
    const isLogDamage = error instanceof LogDamaged;
    if (isDamaged && isLogDamage) coverage.hit('corruption refused');
    else if (isLogDamage) world.reportViolation('INV-10', `an undamaged log was refused: ${error.message}`);
    else if (!(error instanceof StoreBroken) && !(error instanceof StoreUnavailable)) {
      world.reportViolation(
        'THROWN',
        error instanceof Error ? (error.stack ?? error.message) : String(error),
      );
    }
    process.kill();
    this.bootLater();
  }

  private walContent(): Buffer | null {
    return this.diskImage.fileAt(`${ROOT}/${WAL_FILE}`)?.content() ?? null;
  }

  private damageSomeLog(): (() => void) | null {
    // With a write-ahead log, the next start would write its events into the log again, and so repair damage to them.
    if (this.walContent() !== null) return null;
    const projectKey = this.rng.pick(this.context.projects);
    return damageLog(this.diskImage, `${ROOT}/${projectKey.tenant_id}/${projectKey.project_id}`, this.rng);
  }

  /** A second process opens the same log; it may succeed only if no live process has it open. */
  private async openSecondWriter(): Promise<void> {
    const { world, coverage } = this.context;
    const holder = this.runningInstance?.process;
    const secondProcess = new SimProcess(world, 'rival', this.rng.fork(`rival ${world.steps}`));
    try {
      await this.openStore(secondProcess);
      if (holder?.isAlive)
        world.reportViolation('INV-20', 'a second writer opened the log of a live process');
    } catch (error) {
      if (holder?.isAlive && error instanceof StoreUnavailable) coverage.hit('second writer refused');
    }
    secondProcess.kill();
  }
}

const isOfSeveralProjects = (bytes: Uint8Array): boolean =>
  (frameAt(Buffer.from(bytes), 0)?.parts.length ?? 0) > 1;
