import { MemoryBlobs } from '../../src/coordinator/index.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { LogDamaged, type Store, StoreBroken, StoreUnavailable } from '../../src/stores/store.js';
import { Pace } from '../checks/pace.js';
import { Platter } from '../world/platter.js';
import { Process } from '../world/process.js';
import { type DiskFaults, SimDisk } from '../world/sim-disk.js';
import { damageLog } from './rot.js';
import { nowAndThen, type Setting } from './setting.js';
import { type Fleet, openSite, overheard, type Site } from './site.js';

const ROOT = '/data';
/** Reading a log whole at every restart would take longer than all the rest; the last restart reads it whole. */
const TAIL_COMPARED = 50;
const COMMIT_MS = 10;
const SNAPSHOT_BEGUN = /\/snapshots\/unfinished$/;
const SNAPSHOT_NAME = /\/snapshots\/\d+$/;
const SNAPSHOT_MS = 20;
const SNAPSHOT_AMBUSH_CHANCE = 0.3;
const STALL_MAX_MS = 1000;
const LOG_FILE = /\/events\.jsonl$/;
const LOG_STALL_CHANCE = 0.3;
const LOG_STALL_MS = 3000;
const AMBUSH_LEASES = 8;
const CLOCK_STEP_MAX_MS = 10 * 60_000;

/** One coordinator over the real file store, on a disk that forgets what was not synced. */
export class FileFleet implements Fleet {
  readonly size = 1;
  readonly incarnation = 1;
  private current: Site | null = null;
  private process: Process | null = null;
  private boots = 0;
  private wild = true;
  private committing = 0;
  /** The next commit is the last thing the process does. */
  private lies_in_wait = false;
  /** The log is slow to reach the disk while a snapshot is written beside it. */
  private log_stalls = false;
  /** Once it is up again it falls a second time. */
  private falls_again = false;
  private readonly platter = new Platter();
  private readonly blobs = new MemoryBlobs();
  private readonly rng;
  private readonly ambush;
  private readonly faults: DiskFaults;

  constructor(private readonly setting: Setting) {
    const { world, scenario, reached } = setting;
    this.rng = world.rng.fork('file fleet');
    this.ambush = world.rng.fork('ambush');
    this.platter.makeFolder(ROOT);
    this.platter.syncFolder(this.platter.root);
    this.faults = {
      isFull: false,
      write_failure_chance: scenario.rates.write_failure_chance,
      sync_failure_chance: scenario.rates.sync_failure_chance,
      stallMs: (path) => this.stallMs(path),
      befell: (what) => reached.hit(what),
      named: (folder) => {
        if (SNAPSHOT_BEGUN.test(folder)) this.stallLog();
        if (SNAPSHOT_NAME.test(folder)) this.strikeSnapshot();
      },
    };
  }

  get isUp(): boolean {
    return this.current !== null;
  }

  site(): Site | null {
    return this.current;
  }

  start(): void {
    const { rates, lease_seconds } = this.setting.scenario;
    const lease_ms = lease_seconds * 1000;
    const each = (name: string, mean_ms: number | null, befall: () => void): void =>
      nowAndThen(this.setting, name, mean_ms, befall, () => this.wild);
    this.boot();
    each('crash', rates.crash_every_ms, () => this.fall());
    each('ambush', this.setting.scenario.has('ambush') ? lease_ms * AMBUSH_LEASES : null, () => {
      this.lies_in_wait = true;
    });
    each('freeze', rates.freeze_every_ms, () =>
      this.process?.freeze(lease_ms * this.rng.between(0.1, 10) ** 0.5),
    );
    each('clock step', rates.clock_step_every_ms, () =>
      this.process?.stepWallClock(this.rng.between(-CLOCK_STEP_MAX_MS, CLOCK_STEP_MAX_MS)),
    );
    each('disk full', rates.disk_full_every_ms, () => this.fillDisk(lease_ms * this.rng.between(0.05, 1)));
    each('rival', rates.rival_every_ms, () => void this.rival());
  }

  calm(): void {
    this.wild = false;
    this.lies_in_wait = false;
    this.faults.isFull = false;
    this.faults.write_failure_chance = 0;
    this.faults.sync_failure_chance = 0;
  }

  async finish(): Promise<void> {
    this.crash(true);
    await this.open(this.newProcess(), false);
  }

  private fillDisk(for_ms: number): void {
    this.faults.isFull = true;
    this.setting.world.schedule(for_ms, 'disk has room again', () => {
      this.faults.isFull = false;
    });
  }

  /** Crashes, or once in a while stops in good order. */
  private fall(): void {
    const site = this.current;
    if (site === null || site.process.isFrozen || this.rng.chance(0.8)) {
      this.crash(this.rng.chance(this.setting.scenario.rates.power_chance));
      this.bootLater();
      return;
    }
    this.current = null;
    site.coordinator.close();
    void site.store.close().then(
      () => {
        site.process.kill();
        this.bootLater();
      },
      () => this.die(site.process),
    );
  }

  /** A commit takes a few milliseconds in hours: a crash that comes by chance hardly ever meets one. */
  private strike(): void {
    if (!this.lies_in_wait) return;
    this.lies_in_wait = false;
    this.falls_again = true;
    this.crashAfter(this.ambush.between(0, COMMIT_MS), this.setting.scenario.rates.power_chance / 2);
  }

  /** From its name on a snapshot counts, whatever becomes of the log that it was taken from. */
  private strikeSnapshot(): void {
    const { scenario, reached } = this.setting;
    const chance = this.log_stalls ? 1 : SNAPSHOT_AMBUSH_CHANCE;
    this.log_stalls = false;
    if (!this.wild || !scenario.has('ambush') || !this.ambush.chance(chance)) return;
    reached.hit('crash after snapshot');
    this.crashAfter(this.ambush.between(0, SNAPSHOT_MS), scenario.rates.power_chance);
  }

  private stallLog(): void {
    this.log_stalls = this.wild && this.setting.scenario.has('stall') && this.ambush.chance(LOG_STALL_CHANCE);
  }

  private stallMs(path: string): number {
    if (!this.wild) return 0;
    if (this.log_stalls && LOG_FILE.test(path)) return LOG_STALL_MS;
    const isStalled = this.rng.chance(this.setting.scenario.rates.stall_chance);
    return isStalled ? this.rng.between(0, STALL_MAX_MS) : 0;
  }

  private crashAfter(after_ms: number, power_chance: number): void {
    const { process } = this;
    this.setting.world.schedule(after_ms, 'crash', () => {
      if (process !== this.process || !process?.isAlive || !this.wild) return;
      this.crash(this.ambush.chance(power_chance));
      this.bootLater();
    });
  }

  private crash(withPower: boolean): void {
    if (this.process?.isAlive && this.committing > 0) this.setting.reached.hit('crash during commit');
    this.process?.kill();
    this.current = null;
    this.committing = 0;
    this.log_stalls = false;
    if (!withPower) return;
    this.setting.world.trace('the power fails');
    this.platter.losePower(this.rng);
  }

  /** The store said that it cannot go on: the process stops. */
  private die(process: Process): void {
    if (process !== this.process || !process.isAlive) return;
    this.crash(this.rng.chance(this.setting.scenario.rates.power_chance));
    this.bootLater();
  }

  private bootLater(): void {
    const after_ms = this.rng.between(50, this.setting.scenario.lease_seconds * 1000);
    this.setting.world.schedule(after_ms, 'boot', () => this.boot());
  }

  private boot(): void {
    if (this.process?.isAlive) return;
    const process = this.newProcess();
    const repair =
      this.wild && this.rng.chance(this.setting.scenario.rates.rot_chance) ? this.damage() : null;
    // Whoever finds the damage is refused and ends; whoever dies on the way to it must not leave it behind.
    if (repair !== null) process.whenDead(repair);
    this.open(process, repair !== null).then(
      () => {
        if (repair === null) return;
        this.setting.world.violate('INV-20', 'a damaged log was opened as if nothing had happened');
      },
      (error) => this.refused(process, error, repair !== null),
    );
  }

  private newProcess(): Process {
    this.boots += 1;
    const name = `coordinator-${this.boots}`;
    const { clock_tick_ms } = this.setting.scenario.rates;
    this.process = new Process(this.setting.world, name, this.rng.fork(name), clock_tick_ms);
    return this.process;
  }

  private async open(process: Process, isDamaged: boolean): Promise<void> {
    const { scenario, observer, reached, credentials } = this.setting;
    const store = await this.openStore(process);
    for (const key of this.setting.projects) {
      const after = this.wild ? Math.max(0, observer.watch(key).events.length - TAIL_COMPARED) : 0;
      const events = await store.events(key, { after, limit: 1_000_000 });
      if (isDamaged) continue;
      observer.recovered(key, after, events);
      observer.headsAre(key, await store.scanHeads(key, { after: null, limit: 1_000_000 }));
    }
    const pace = new Pace(this.setting.world, scenario.rates.clock_tick_ms, await store.now());
    const heard = overheard(store, {
      began: (units) => {
        this.committing += 1;
        observer.attempted(units);
        this.strike();
      },
      ended: () => {
        this.committing -= 1;
      },
      committed: (units, outcomes) => {
        pace.told(outcomes);
        observer.committed(units, outcomes);
      },
    });
    const site = await openSite(process, heard, { limits: scenario.limits, blobs: this.blobs, credentials });
    this.current = site;
    // What was found again and told must outlast a loss of power that comes before anything else is written.
    if (this.falls_again) this.crashAfter(this.ambush.between(0, 100), scenario.rates.power_chance);
    this.falls_again = false;
    if (this.platter.folder(`${ROOT}/t1/p/snapshots`) !== null) reached.hit('snapshot written');
  }

  private async openStore(process: Process): Promise<Store> {
    const { world, scenario, reached } = this.setting;
    const random = this.rng.fork(`secret ${process.name}`);
    const store = await openFileStore({
      root: ROOT,
      disk: new SimDisk(this.platter, process, this.faults, this.rng.fork(`disk ${process.name}`)),
      clock: process.clock,
      random: (size) => random.bytes(size),
      segment_bytes_max: scenario.segment_bytes_max,
      onWarning: (sentence) => {
        if (sentence.includes('left unfinished')) reached.hit('torn tail cut');
        world.trace(`warning: ${sentence}`);
        // It gets its name when it is on the disk as a whole, and nothing here damages snapshots.
        if (sentence.includes('is left aside')) world.violate('INV-20', sentence);
      },
    });
    void store.finished.then(() => process.after(1, 'stops', () => this.die(process)));
    return store;
  }

  /** It could not be opened: right when the log is damaged or the disk at fault, and wrong otherwise. */
  private refused(process: Process, error: unknown, isDamaged: boolean): void {
    const { world, reached } = this.setting;
    world.trace(`not opened: ${String(error)}`);
    const isDamageToIt = error instanceof LogDamaged;
    if (isDamaged && isDamageToIt) reached.hit('corruption refused');
    else if (isDamageToIt)
      world.violate('INV-10', `the log was refused, and nobody damaged it: ${error.message}`);
    else if (!(error instanceof StoreBroken) && !(error instanceof StoreUnavailable) && !isOfDisk(error)) {
      world.violate('THROWN', error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    process.kill();
    this.bootLater();
  }

  private damage(): (() => void) | null {
    const key = this.rng.pick(this.setting.projects);
    return damageLog(this.platter, `${ROOT}/${key.tenant_id}/${key.project_id}`, this.rng);
  }

  /** Another process wants the same log. It gets it only when nobody alive has it. */
  private async rival(): Promise<void> {
    const { world, reached } = this.setting;
    const holder = this.current?.process;
    const rival = new Process(world, 'rival', this.rng.fork(`rival ${world.steps}`));
    try {
      await this.openStore(rival);
      if (holder?.isAlive) world.violate('INV-20', 'a second writer opened the log while the first lived');
    } catch (error) {
      if (holder?.isAlive && error instanceof StoreUnavailable) reached.hit('second writer refused');
    }
    rival.kill();
  }
}

/** Before the store is open nobody has told its disk's errors from any others. */
const isOfDisk = (error: unknown): boolean => error instanceof Error && 'syscall' in error;
