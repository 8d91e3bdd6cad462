import { Coordinator, MemoryBlobs } from '../../src/coordinator/index.js';
import type { AnyHead } from '../../src/core/fold.js';
import { POLICY_SUBJECT } from '../../src/core/subject.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { type Store, StoreBroken, StoreUnavailable } from '../../src/stores/store.js';
import type { InboxCommand } from '../../src/workspace/inbox/command.js';
import { Serialiser, type SerialiserStep, UndecidedError } from '../../src/workspace/inbox/serialiser.js';
import { Workspace } from '../../src/workspace/workspace.js';
import type { CoverageCounter } from '../checks/coverage.js';
import { scheduleRecurring } from '../fleet/sim-context.js';
import { SimProcess } from '../world/process.js';
import { type DiskFaults, SimDisk } from '../world/sim-disk.js';
import type { InboxContext } from './agent.js';
import { EVENTS_FOLDER } from './command-file-tracker.js';
import type { StoreContents } from './inbox-checks.js';
import { SimFiles } from './sim-files.js';

const KEY = { tenant_id: 'default', project_id: 'p' };
const AMBUSH_DELAY_MS_MAX = 5;
const BOOT_MS_MAX = 300;
const DISK_FULL_MS_MAX = 300;
const PAUSE_MS_MAX = 50;

/** The machine with the workspace: a serialiser on the real store and coordinator, which crashes and restarts. */
export class SerialiserMachine {
  private process: SimProcess | null = null;
  private bootCount = 0;
  private areFaultsOn = true;
  /** The running serialiser; null: down, or not up yet. */
  private serving: { store: Store; serialiser: Serialiser } | null = null;
  private readonly blobs = new MemoryBlobs();
  private readonly rng;
  private readonly faults: DiskFaults;

  constructor(
    private readonly context: InboxContext,
    private readonly coverage: CoverageCounter,
  ) {
    const { world, scenario, diskImage } = context;
    this.rng = world.rng.fork('machine');
    diskImage.makeFolder(EVENTS_FOLDER);
    for (const path of ['', '/w', EVENTS_FOLDER]) {
      const folder = diskImage.folderAt(path);
      if (folder !== null) diskImage.syncFolder(folder);
    }
    this.faults = {
      isFull: false,
      write_failure_chance: scenario.write_failure_chance,
      sync_failure_chance: scenario.sync_failure_chance,
      stallMs: () => 0,
      onFault: (what) => coverage.hit(what),
      onPathAppeared: () => {},
    };
  }

  get isUp(): boolean {
    return this.serving !== null;
  }

  start(): void {
    const { scenario } = this.context;
    const schedule = (name: string, meanMs: number | null, action: () => void): void =>
      scheduleRecurring(this.context, name, meanMs, action, () => this.areFaultsOn);
    this.boot();
    schedule('crash', scenario.crash_every_ms, () => this.crash());
    schedule('disk full', scenario.disk_full_every_ms, () => this.fillDisk());
  }

  stopFaults(): void {
    this.areFaultsOn = false;
    Object.assign(this.faults, { isFull: false, write_failure_chance: 0, sync_failure_chance: 0 });
  }

  /** Kills the process; a power loss also discards unsynced data. The machine restarts by itself. */
  crash(isPowerLoss = this.rng.chance(this.context.scenario.power_chance)): void {
    const { world, diskImage, tracker } = this.context;
    if (!this.process?.isAlive) return;
    this.process.kill();
    this.serving = null;
    tracker.onSerialiserDied();
    if (isPowerLoss) {
      world.trace('the power fails');
      diskImage.losePower(this.rng);
      tracker.onPowerFailed();
    }
    world.schedule(this.rng.between(5, BOOT_MS_MAX), 'boot', () => this.boot());
  }

  /** Reads the log and the store's heads at one position; retries, since expiring claims may be written meanwhile. */
  async read(): Promise<StoreContents> {
    if (this.serving === null) throw new Error('no serialiser is running');
    const { store } = this.serving;
    for (;;) {
      const positionBefore = (await store.project(KEY))?.position;
      const heads = await store.scanHeads(KEY, { after: null, limit: 1_000_000 });
      const events = await store.events(KEY, { after: 0, limit: 1_000_000 });
      if (events.at(-1)?.position === positionBefore) return { events, heads: heads as unknown as AnyHead[] };
    }
  }

  private fillDisk(): void {
    this.faults.isFull = true;
    this.context.world.schedule(this.rng.between(0, DISK_FULL_MS_MAX), 'disk has room again', () => {
      this.faults.isFull = false;
    });
  }

  private boot(): void {
    this.bootCount += 1;
    const name = `serialiser-${this.bootCount}`;
    const process = new SimProcess(this.context.world, name, this.rng.fork(name));
    this.process = process;
    this.serve(process).catch((error) => {
      if (process !== this.process || !process.isAlive) return;
      const isDiskError = error instanceof StoreBroken || error instanceof StoreUnavailable;
      if (!isDiskError || !this.areFaultsOn)
        this.context.world.reportViolation('THROWN', error.stack ?? String(error));
      this.context.world.trace(`${name} stops: ${error.message}`);
      this.crash();
    });
  }

  private async serve(process: SimProcess): Promise<void> {
    const disk = new SimDisk(
      this.context.diskImage,
      process,
      this.faults,
      this.rng.fork(`disk ${process.name}`),
    );
    const { store, serialiser } = await this.open(process, disk);
    this.serving = { store, serialiser };
    for (;;) {
      try {
        await serialiser.pass();
      } catch (error) {
        if (!(error instanceof UndecidedError)) throw error;
        this.context.world.trace(`undecided: ${error.message}`);
      }
      await process.sleep(this.rng.between(0, PAUSE_MS_MAX), 'looks again');
    }
  }

  private async open(process: SimProcess, disk: SimDisk) {
    const { scenario, diskImage, tracker, world } = this.context;
    const random = this.rng.fork(`secret ${process.name}`);
    const store = await openFileStore({
      root: EVENTS_FOLDER,
      home: KEY,
      disk,
      clock: process.clock,
      random: (size) => random.bytes(size),
      segment_bytes_max: scenario.segment_bytes_max,
      onWarning: (sentence) => world.trace(`warning: ${sentence}`),
    });
    void store.broken.then(() =>
      process.runAfter(1, 'stops', () => process === this.process && this.crash()),
    );
    const { limits } = scenario;
    const environment = process.environment();
    const coordinator = await Coordinator.open({ store, blobs: this.blobs, environment, limits });
    const [policy = null] = await store.heads(KEY, [POLICY_SUBJECT]);
    if (policy === null) await coordinator.settings.putPolicy(KEY, scenario.policy);
    const serialiser = new Serialiser({
      events: EVENTS_FOLDER,
      // Every simulated convergence carries its result, so no draft file is looked for.
      context: { project: new Workspace('/w'), coordinator, store, blobs: this.blobs, key: KEY },
      files: new SimFiles(diskImage, disk, (path) => tracker.onPathAppeared(path)),
      now: () => new Date(process.clock.wallMs()),
      warn: (sentence) => world.trace(`warning: ${sentence}`),
      onStep: (step, command) => this.onStep(process, step, command),
    });
    return { store, serialiser };
  }

  private onStep(process: SimProcess, step: SerialiserStep, { agent_id, name }: InboxCommand): void {
    const { world, scenario, tracker } = this.context;
    if (!process.isAlive) return;
    world.trace(`${agent_id}/${name} is ${step}`);
    if (step === 'removed') tracker.onRemoved(agent_id, name);
    if (!this.areFaultsOn || !this.rng.chance(scenario.ambush_chance)) return;
    this.coverage.hit('crash during commit');
    if (this.rng.chance(0.5)) this.crash();
    else process.runAfter(this.rng.between(0, AMBUSH_DELAY_MS_MAX), 'crash', () => this.crash());
  }
}
