import { Coordinator, MemoryBlobs } from '../../src/coordinator/index.js';
import type { AnyHead } from '../../src/core/fold.js';
import { POLICY_SUBJECT } from '../../src/core/subject.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { type Store, StoreBroken, StoreUnavailable } from '../../src/stores/store.js';
import type { InboxCommand } from '../../src/workspace/inbox/command.js';
import { Serialiser, type Step, Undecided } from '../../src/workspace/inbox/serialiser.js';
import { Workspace } from '../../src/workspace/workspace.js';
import type { Reached } from '../checks/sometimes.js';
import { nowAndThen } from '../fleet/setting.js';
import { Process } from '../world/process.js';
import { type DiskFaults, SimDisk } from '../world/sim-disk.js';
import type { InboxStage } from './agent.js';
import type { Found } from './judge.js';
import { EVENTS } from './post.js';
import { SimFiles } from './sim-files.js';

export const KEY = { tenant_id: 'default', project_id: 'p' };
const AMBUSH_MS_MAX = 5;
const BOOT_MS_MAX = 300;
const FULL_MS_MAX = 300;
const PAUSE_MS_MAX = 50;

/** The machine with the workspace: a serialiser over the real store and the real coordinator, that dies and comes back. */
export class Machine {
  private process: Process | null = null;
  private boots = 0;
  private wild = true;
  /** Serving by now; null: down, or not up yet. */
  private serving: { store: Store; serialiser: Serialiser } | null = null;
  private readonly blobs = new MemoryBlobs();
  private readonly rng;
  private readonly faults: DiskFaults;

  constructor(
    private readonly stage: InboxStage,
    private readonly reached: Reached,
  ) {
    const { world, scenario, platter } = stage;
    this.rng = world.rng.fork('machine');
    platter.makeFolder(EVENTS);
    for (const path of ['', '/w', EVENTS]) {
      const folder = platter.folder(path);
      if (folder !== null) platter.syncFolder(folder);
    }
    this.faults = {
      isFull: false,
      write_failure_chance: scenario.write_failure_chance,
      sync_failure_chance: scenario.sync_failure_chance,
      stallMs: () => 0,
      befell: (what) => reached.hit(what),
      named: () => {},
    };
  }

  get isUp(): boolean {
    return this.serving !== null;
  }

  start(): void {
    const { scenario } = this.stage;
    const each = (name: string, mean_ms: number | null, befall: () => void): void =>
      nowAndThen(this.stage, name, mean_ms, befall, () => this.wild);
    this.boot();
    each('crash', scenario.crash_every_ms, () => this.crash());
    each('disk full', scenario.disk_full_every_ms, () => this.fillDisk());
  }

  calm(): void {
    this.wild = false;
    Object.assign(this.faults, { isFull: false, write_failure_chance: 0, sync_failure_chance: 0 });
  }

  /** Dies, and takes with it what was not synced. It comes back by itself. */
  crash(withPower = this.rng.chance(this.stage.scenario.power_chance)): void {
    const { world, platter, post } = this.stage;
    if (!this.process?.isAlive) return;
    this.process.kill();
    this.serving = null;
    post.died();
    if (withPower) {
      world.trace('the power fails');
      platter.losePower(this.rng);
      post.powerFailed();
    }
    world.schedule(this.rng.between(5, BOOT_MS_MAX), 'boot', () => this.boot());
  }

  /** What the log holds, and the heads that the store keeps: of one moment, though silent claims are written down. */
  async read(): Promise<Found> {
    if (this.serving === null) throw new Error('nobody serves');
    const { store } = this.serving;
    for (;;) {
      const before = (await store.project(KEY))?.position;
      const heads = await store.scanHeads(KEY, { after: null, limit: 1_000_000 });
      const events = await store.events(KEY, { after: 0, limit: 1_000_000 });
      if (events.at(-1)?.position === before) return { events, heads: heads as unknown as AnyHead[] };
    }
  }

  private fillDisk(): void {
    this.faults.isFull = true;
    this.stage.world.schedule(this.rng.between(0, FULL_MS_MAX), 'disk has room again', () => {
      this.faults.isFull = false;
    });
  }

  private boot(): void {
    this.boots += 1;
    const name = `serialiser-${this.boots}`;
    const process = new Process(this.stage.world, name, this.rng.fork(name));
    this.process = process;
    this.serve(process).catch((error) => {
      if (process !== this.process || !process.isAlive) return;
      const isOfDisk =
        error instanceof StoreBroken || error instanceof StoreUnavailable || 'syscall' in error;
      if (!isOfDisk || !this.wild) this.stage.world.violate('THROWN', error.stack ?? String(error));
      this.stage.world.trace(`${name} stops: ${error.message}`);
      this.crash();
    });
  }

  private async serve(process: Process): Promise<void> {
    const disk = new SimDisk(this.stage.platter, process, this.faults, this.rng.fork(`disk ${process.name}`));
    const { store, serialiser } = await this.open(process, disk);
    this.serving = { store, serialiser };
    for (;;) {
      try {
        await serialiser.pass();
      } catch (error) {
        if (!(error instanceof Undecided)) throw error;
        this.stage.world.trace(`undecided: ${error.message}`);
      }
      await process.sleep(this.rng.between(0, PAUSE_MS_MAX), 'looks again');
    }
  }

  private async open(process: Process, disk: SimDisk) {
    const { scenario, platter, post, world } = this.stage;
    const random = this.rng.fork(`secret ${process.name}`);
    const store = await openFileStore({
      root: EVENTS,
      home: KEY,
      disk,
      clock: process.clock,
      random: (size) => random.bytes(size),
      segment_bytes_max: scenario.segment_bytes_max,
      onWarning: (sentence) => world.trace(`warning: ${sentence}`),
    });
    void store.finished.then(() => process.after(1, 'stops', () => process === this.process && this.crash()));
    const { limits } = scenario;
    const environment = process.environment();
    const coordinator = await Coordinator.open({ store, blobs: this.blobs, environment, limits });
    const [policy = null] = await store.heads(KEY, [POLICY_SUBJECT]);
    if (policy === null) await coordinator.settings.putPolicy(KEY, scenario.policy);
    const serialiser = new Serialiser({
      events: EVENTS,
      // Every simulated convergence brings its result: no draft is ever looked for.
      desk: { place: new Workspace('/w'), coordinator, store, blobs: this.blobs, key: KEY },
      files: new SimFiles(platter, disk, (path) => post.named(path)),
      now: () => new Date(process.clock.wallMs()),
      warn: (sentence) => world.trace(`warning: ${sentence}`),
      onStep: (step, command) => this.stepped(process, step, command),
    });
    return { store, serialiser };
  }

  private stepped(process: Process, step: Step, { agent_id, name }: InboxCommand): void {
    const { world, scenario, post } = this.stage;
    if (!process.isAlive) return;
    world.trace(`${agent_id}/${name} is ${step}`);
    if (step === 'removed') post.removed(agent_id, name);
    if (!this.wild || !this.rng.chance(scenario.ambush_chance)) return;
    this.reached.hit('crash during commit');
    if (this.rng.chance(0.5)) this.crash();
    else process.after(this.rng.between(0, AMBUSH_MS_MAX), 'crash', () => this.crash());
  }
}
