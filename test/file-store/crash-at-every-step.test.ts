import { expect, it } from 'vitest';
import { awaitInWorld, runToFirstViolation } from '../../sim/seed-result.js';
import { DiskImage } from '../../sim/world/disk-image.js';
import { SimProcess } from '../../sim/world/process.js';
import { Rng } from '../../sim/world/rng.js';
import { type DiskFaults, SimDisk } from '../../sim/world/sim-disk.js';
import { SimWorld } from '../../sim/world/world.js';
import { eventOf, transactionOf } from '../../src/stores/conformance/fixture.js';
import { type FileStore, openFileStore } from '../../src/stores/file/file-store.js';
import { LogDamaged, type ProjectKey, type Store, StoreRefused } from '../../src/stores/store.js';

const ROOT = '/data';
const PROJECTS = ['a', 'b', 'c', 'd'].map((project_id): ProjectKey => ({ tenant_id: 't', project_id }));
const ROUNDS = 6;
/** Created before the simulation, because it allows no real randomness. */
const TRANSACTIONS = new Map(
  PROJECTS.map((key) => [
    key,
    Array.from({ length: ROUNDS }, (_, round) => {
      const event_id = `${key.project_id}-${round + 1}`;
      return { event_id, transaction: transactionOf(key, { loose_events: [eventOf(key, { event_id })] }) };
    }),
  ]),
);
/** Small limits, so that every run closes segments and empties the write-ahead log. */
const SIZES = { segment_bytes_max: 1500, wal_bytes_max: 4000 };

/** One store on a disk that loses what was not synced. */
class CrashRun {
  private readonly diskImage = new DiskImage();
  private readonly rng: Rng;
  private boots = 0;
  /** By project: the events that were confirmed. */
  readonly confirmed = new Map(PROJECTS.map((key) => [key, [] as string[]]));

  constructor(
    readonly world: SimWorld,
    name: string,
    private readonly ownSyncsMax: number,
  ) {
    this.rng = new Rng(name);
    this.diskImage.makeFolder(ROOT);
    this.diskImage.syncFolder(this.diskImage.root);
  }

  boot(): { process: SimProcess; opening: Promise<FileStore> } {
    this.boots += 1;
    const process = new SimProcess(this.world, `boot ${this.boots}`, this.rng.fork(`boot ${this.boots}`));
    const disk = new SimDisk(this.diskImage, process, NO_FAULTS, this.rng.fork(`disk ${this.boots}`));
    const random = this.rng.fork(`secret ${this.boots}`);
    const opening = openFileStore({
      root: ROOT,
      disk,
      clock: process.clock,
      random: (size) => random.bytes(size),
      own_syncs_max: this.ownSyncsMax,
      ...SIZES,
    });
    return { process, opening };
  }

  async work(store: Store): Promise<void> {
    const writeAll = async (key: ProjectKey): Promise<void> => {
      for (const { event_id, transaction } of TRANSACTIONS.get(key) ?? []) {
        await store.commit([transaction]);
        this.confirmed.get(key)?.push(event_id);
      }
    };
    await Promise.all(PROJECTS.map(writeAll));
    await store.close();
  }

  crash(process: SimProcess, losesPower: boolean): void {
    process.kill();
    if (losesPower) this.diskImage.losePower(this.rng);
  }

  /** Reports a violation unless the store has all confirmed events, and at most one more: the next event. */
  async check(store: Store): Promise<void> {
    for (const key of PROJECTS) {
      const found = (await store.events(key, { after: 0, limit: 1000 })).map(({ event_id }) => event_id);
      const confirmed = this.confirmed.get(key) ?? [];
      const expected = Array.from({ length: found.length }, (_, at) => `${key.project_id}-${at + 1}`);
      const isComplete =
        found.join() === expected.join() &&
        found.length >= confirmed.length &&
        found.length <= confirmed.length + 1;
      if (!isComplete)
        this.world.reportViolation('LOST', `${key.project_id}: confirmed ${confirmed}, found ${found}`);
    }
  }
}

const NO_FAULTS: DiskFaults = {
  isFull: false,
  write_failure_chance: 0,
  sync_failure_chance: 0,
  stallMs: () => 0,
  onFault: () => {},
  onPathAppeared: () => {},
};

/** Crashes at a step, crashes again during recovery, and then checks all events. Returns false if the run ended before. */
async function crashAt(run: CrashRun, step: number): Promise<boolean> {
  const { world } = run;
  let isDone = false;
  const first = run.boot();
  first.opening
    .then((store) => run.work(store))
    .then(() => {
      isDone = true;
    });
  await world.run(3600_000, () => isDone || world.steps >= step);
  const hasEnded = isDone;
  run.crash(first.process, step % 4 !== 0);
  const second = run.boot();
  second.opening.catch((error: unknown) => {
    if (error instanceof LogDamaged || error instanceof StoreRefused)
      world.reportViolation('REFUSED', error.message);
  });
  const until = world.steps + (step % 25);
  await world.run(world.now_ms + 3600_000, () => world.steps >= until);
  run.crash(second.process, true);
  const third = run.boot();
  const store = await awaitInWorld(world, third.opening);
  await awaitInWorld(world, run.check(store));
  return !hasEnded;
}

for (const ownSyncsMax of [0, 2]) {
  it(`keeps every confirmed event through a power loss at any step, with at most ${ownSyncsMax} syncs of own files`, async () => {
    let step = 1;
    for (let hasCrashed = true; hasCrashed; step += 1) {
      const world = new SimWorld(step);
      const run = new CrashRun(world, `step ${step}`, ownSyncsMax);
      const violation = await runToFirstViolation(world, async () => {
        hasCrashed = await crashAt(run, step);
      });
      expect(violation, `at step ${step}`).toBeNull();
    }
    // Fewer steps would mean that nothing was written.
    expect(step).toBeGreaterThan(200);
  });
}
