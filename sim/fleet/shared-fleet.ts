import { MemoryBlobs } from '../../src/coordinator/index.js';
import { factOf } from '../../src/core/claims/facts.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { StoreUnavailable } from '../../src/stores/store.js';
import { Process } from '../world/process.js';
import { nowAndThen, type Setting } from './setting.js';
import { SharedStore } from './shared-store.js';
import { type Fleet, openSite, type Site } from './site.js';
import { type LinkFaults, StoreLink } from './store-link.js';

const CLOCK_STEP_MAX_MS = 10 * 60_000;
const LOST_COMMITS_MAX = 20;

interface Slot {
  process: Process | null;
  site: Site | null;
}

/** Two or three coordinators over one store, each believing what it saw last. */
export class SharedFleet implements Fleet {
  readonly size: number;
  private readonly slots: Slot[];
  private readonly shared: SharedStore;
  private readonly faults: LinkFaults;
  private readonly blobs = new MemoryBlobs();
  private readonly rng;
  private boots = 0;
  private wild = true;
  /** Grants of a history that is lost: the same generation may be granted again, to somebody else. */
  private readonly lostGrants = new Set<string>();

  constructor(private readonly setting: Setting) {
    const { world, scenario, observer, reached } = setting;
    this.rng = world.rng.fork('shared fleet');
    this.size = scenario.coordinators;
    this.slots = Array.from({ length: this.size }, () => ({ process: null, site: null }));
    this.faults = { failure_chance: scenario.rates.link_failure_chance };
    const secret = Buffer.from(this.rng.bytes(32)).toString('hex');
    const { clock_tick_ms } = scenario.rates;
    const process = new Process(world, 'store', this.rng.fork('store'), clock_tick_ms);
    this.shared = new SharedStore(process, secret, clock_tick_ms, (units, outcomes) => {
      observer.committed(units, outcomes);
      for (const [index, unit] of units.entries()) {
        if (outcomes[index]?.kind !== 'committed') continue;
        for (const event of unit.swaps.flatMap((swap) => swap.events)) {
          const isSecond = factOf(event.event_type) === 'granted' && this.lostGrants.delete(grantName(event));
          if (isSecond) reached.hit('generation granted twice');
        }
      }
    });
  }

  get incarnation(): number {
    return this.shared.incarnation;
  }

  get isUp(): boolean {
    return this.slots.every(({ site }) => site !== null);
  }

  site(number: number): Site | null {
    return this.slots[number]?.site ?? null;
  }

  start(): void {
    const { rates, lease_seconds } = this.setting.scenario;
    const lease_ms = lease_seconds * 1000;
    const each = (name: string, mean_ms: number | null, befall: () => void): void =>
      nowAndThen(this.setting, name, mean_ms, befall, () => this.wild);
    const anybody = (): Process => this.rng.pick(this.slots).process ?? this.shared.process;
    for (const slot of this.slots) this.boot(slot);
    each('crash', rates.crash_every_ms, () => this.crash(this.rng.pick(this.slots)));
    each('freeze', rates.freeze_every_ms, () =>
      anybody().freeze(lease_ms * this.rng.between(0.1, 10) ** 0.5),
    );
    each('clock step', rates.clock_step_every_ms, () => {
      const process = this.rng.chance(0.5) ? this.shared.process : anybody();
      process.stepWallClock(this.rng.between(-CLOCK_STEP_MAX_MS, CLOCK_STEP_MAX_MS));
    });
    if (rates.failover_at_ms !== null) {
      this.setting.world.schedule(rates.failover_at_ms, 'failover', () => {
        if (this.wild) void this.failOver();
      });
    }
  }

  calm(): void {
    this.wild = false;
    this.faults.failure_chance = 0;
  }

  async finish(): Promise<void> {
    const store = this.shared.store();
    for (const key of this.setting.projects) {
      this.setting.observer.headsAre(key, await store.scanHeads(key, { after: null, limit: 1_000_000 }));
    }
  }

  private crash(slot: Slot): void {
    slot.process?.kill();
    slot.site = null;
    this.bootLater(slot);
  }

  private bootLater(slot: Slot): void {
    const after_ms = this.rng.between(50, this.setting.scenario.lease_seconds * 1000);
    this.setting.world.schedule(after_ms, 'boot', () => this.boot(slot));
  }

  private boot(slot: Slot): void {
    if (slot.process?.isAlive) return;
    this.boots += 1;
    const { world, scenario, credentials } = this.setting;
    const name = `coordinator-${this.boots}`;
    const process = new Process(world, name, this.rng.fork(name));
    slot.process = process;
    const link = new StoreLink(
      () => this.shared.store(),
      process,
      this.faults,
      this.rng.fork(`link ${name}`),
    );
    const store = link.asStore(this.shared.store().capabilities);
    openSite(process, store, { limits: scenario.limits, blobs: this.blobs, credentials }).then(
      (site) => {
        slot.site = site;
      },
      (error) => {
        if (!(error instanceof StoreUnavailable)) world.violate('THROWN', String(error));
        this.crash(slot);
      },
    );
  }

  /** The store is replaced by an older copy of itself. Whoever spoke to the old one starts again. */
  private async failOver(): Promise<void> {
    const { world, observer, reached } = this.setting;
    const lost = Math.min(this.rng.int(LOST_COMMITS_MAX), this.shared.commits);
    world.trace(`the store fails over and loses ${lost} commits`);
    const before = new Map([...observer.all()].map((watch) => [watch, watch.events] as const));
    for (const slot of this.slots) this.crash(slot);
    await this.shared.failOver(lost);
    const kept = new Map<string, readonly EventEnvelope[]>();
    for (const [watch, events] of before) {
      const row = await this.shared.store().project(watch.key);
      const position = row?.position ?? 0;
      kept.set(`${watch.key.tenant_id}/${watch.key.project_id}`, events.slice(0, position));
      for (const event of events.slice(position)) {
        if (factOf(event.event_type) === 'granted') this.lostGrants.add(grantName(event));
      }
    }
    observer.lost(kept);
    if (lost > 0) reached.hit('lossy failover');
  }
}

const grantName = (event: { tenant_id: string; subject?: string; generation?: number }): string =>
  `${event.tenant_id} ${event.subject} ${event.generation}`;
