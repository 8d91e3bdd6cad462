import { MemoryBlobs } from '../../src/coordinator/index.js';
import { claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { projectPath, StoreUnavailable } from '../../src/stores/store.js';
import { SimProcess } from '../world/process.js';
import { type CoordinatorInstance, openInstance, type SimFleet } from './coordinator-instance.js';
import { SharedStore } from './shared-store.js';
import { SimAudit } from './sim-audit.js';
import { type SimContext, scheduleRecurring } from './sim-context.js';
import { type LinkFaults, StoreLink } from './store-link.js';

const CLOCK_STEP_MAX_MS = 10 * 60_000;
const LOST_COMMITS_MAX = 20;

interface FleetSlot {
  process: SimProcess | null;
  instance: CoordinatorInstance | null;
}

/** Two or three coordinators over one store, each with its own possibly outdated view. */
export class SharedFleet implements SimFleet {
  readonly size: number;
  private readonly slots: FleetSlot[];
  private readonly sharedStore: SharedStore;
  private readonly faults: LinkFaults;
  readonly blobs = new MemoryBlobs();
  private readonly rng;
  private boots = 0;
  private areFaultsOn = true;
  /** Grants of a lost history. Until the loss is accepted, the same generation may be granted again, to another agent. */
  private readonly lostGrants = new Set<string>();
  private readonly audit: SimAudit;
  private isLossAccepted = false;

  constructor(private readonly context: SimContext) {
    const { world, scenario, monitor, coverage } = context;
    this.rng = world.rng.fork('shared fleet');
    this.audit = new SimAudit(context);
    this.size = scenario.coordinators;
    this.slots = Array.from({ length: this.size }, () => ({ process: null, instance: null }));
    this.faults = { failure_chance: scenario.rates.link_failure_chance };
    const secret = Buffer.from(this.rng.bytes(32)).toString('hex');
    const { clock_tick_ms } = scenario.rates;
    const process = new SimProcess(world, 'store', this.rng.fork('store'), clock_tick_ms);
    this.sharedStore = new SharedStore(process, secret, clock_tick_ms, (transactions, outcomes) => {
      monitor.onCommitted(transactions, outcomes);
      for (const [index, transaction] of transactions.entries()) {
        if (outcomes[index]?.kind !== 'committed') continue;
        for (const event of transaction.swaps.flatMap((swap) => swap.events)) {
          const isSecondGrant =
            claimEventKindOf(event.event_type) === 'granted' && this.lostGrants.delete(grantKey(event));
          if (isSecondGrant && this.isLossAccepted)
            world.reportViolation(
              'INV-01',
              `${event.subject}: generation ${event.generation} was granted in lost history`,
            );
          if (isSecondGrant) coverage.hit('generation granted twice');
        }
      }
    });
  }

  get incarnation(): number {
    return this.sharedStore.incarnation;
  }

  get isUp(): boolean {
    return this.slots.every(({ instance }) => instance !== null);
  }

  instanceAt(index: number): CoordinatorInstance | null {
    return this.slots[index]?.instance ?? null;
  }

  start(): void {
    const { rates, lease_seconds } = this.context.scenario;
    const leaseMs = lease_seconds * 1000;
    const schedule = (name: string, meanMs: number | null, action: () => void): void =>
      scheduleRecurring(this.context, name, meanMs, action, () => this.areFaultsOn);
    const pickProcess = (): SimProcess => this.rng.pick(this.slots).process ?? this.sharedStore.process;
    for (const slot of this.slots) this.boot(slot);
    this.audit.start();
    schedule('crash', rates.crash_every_ms, () => this.crash(this.rng.pick(this.slots)));
    schedule('freeze', rates.freeze_every_ms, () =>
      pickProcess().freeze(leaseMs * this.rng.between(0.1, 10) ** 0.5),
    );
    schedule('clock step', rates.clock_step_every_ms, () => {
      const process = this.rng.chance(0.5) ? this.sharedStore.process : pickProcess();
      process.stepWallClock(this.rng.between(-CLOCK_STEP_MAX_MS, CLOCK_STEP_MAX_MS));
    });
    if (rates.failover_at_ms !== null) {
      this.context.world.schedule(rates.failover_at_ms, 'failover', () => {
        if (this.areFaultsOn) void this.failOver();
      });
    }
  }

  stopFaults(): void {
    this.areFaultsOn = false;
    this.audit.stopFaults();
    this.faults.failure_chance = 0;
  }

  async finish(): Promise<void> {
    const store = this.sharedStore.store();
    for (const projectKey of this.context.projects) {
      this.context.monitor.checkHeads(
        projectKey,
        await store.scanHeads(projectKey, { after: null, limit: 1_000_000 }),
      );
      const { events } = this.context.monitor.projectMonitor(projectKey);
      if (this.incarnation === 1 || this.isLossAccepted) this.audit.check(projectKey, events);
    }
  }

  private crash(slot: FleetSlot): void {
    slot.process?.kill();
    slot.instance = null;
    this.bootLater(slot);
  }

  private bootLater(slot: FleetSlot): void {
    const afterMs = this.rng.between(50, this.context.scenario.lease_seconds * 1000);
    this.context.world.schedule(afterMs, 'boot', () => this.boot(slot));
  }

  private boot(slot: FleetSlot): void {
    if (slot.process?.isAlive) return;
    this.boots += 1;
    const { world, scenario, credentials } = this.context;
    const name = `coordinator-${this.boots}`;
    const process = new SimProcess(world, name, this.rng.fork(name));
    slot.process = process;
    const link = new StoreLink(
      () => this.sharedStore.store(),
      process,
      this.faults,
      this.rng.fork(`link ${name}`),
    );
    const store = link.asStore(this.sharedStore.store().capabilities);
    const audit = this.audit.optionsOf(`slot ${this.slots.indexOf(slot)}`);
    openInstance(process, store, { limits: scenario.limits, blobs: this.blobs, credentials, audit }).then(
      (instance) => {
        slot.instance = instance;
      },
      (error) => {
        if (!(error instanceof StoreUnavailable)) world.reportViolation('THROWN', String(error));
        this.crash(slot);
      },
    );
  }

  /** Replaces the store with an older copy of itself. Every coordinator restarts. */
  private async failOver(): Promise<void> {
    const { world, monitor, coverage } = this.context;
    const lostCommits = Math.min(this.rng.int(LOST_COMMITS_MAX), this.sharedStore.commitCount);
    world.trace(`the store fails over and loses ${lostCommits} commits`);
    const eventsBefore = new Map(
      [...monitor.allProjectMonitors()].map(
        (projectMonitor) => [projectMonitor, projectMonitor.events] as const,
      ),
    );
    for (const slot of this.slots) this.crash(slot);
    await this.sharedStore.failOver(lostCommits);
    const keptEvents = new Map<string, readonly EventEnvelope[]>();
    for (const [projectMonitor, events] of eventsBefore) {
      const row = await this.sharedStore.store().project(projectMonitor.key);
      const position = row?.position ?? 0;
      keptEvents.set(projectPath(projectMonitor.key), events.slice(0, position));
      for (const event of events.slice(position)) {
        if (claimEventKindOf(event.event_type) === 'granted') this.lostGrants.add(grantKey(event));
      }
    }
    monitor.onHistoryLost(keptEvents);
    for (const projectKey of this.context.projects) {
      const events = keptEvents.get(projectPath(projectKey)) ?? [];
      this.audit.checkLossNoticed(projectKey, events, events.length);
    }
    if (lostCommits > 0) coverage.hit('lossy failover');
    if (this.rng.fork('operator').chance(0.5)) await this.acceptLoss(keptEvents);
  }

  /** Accepts the loss, as an operator with an anchor does before the coordinators start again. */
  private async acceptLoss(keptEvents: ReadonlyMap<string, readonly EventEnvelope[]>): Promise<void> {
    const { world, scenario, credentials, projects } = this.context;
    const process = new SimProcess(world, 'operator', this.rng.fork('operator process'));
    const audit = this.audit.optionsOf('slot 0');
    const options = { limits: scenario.limits, blobs: this.blobs, credentials, audit };
    const { coordinator } = await openInstance(process, this.sharedStore.store(), options);
    for (const projectKey of projects) {
      const keptPosition = keptEvents.get(projectPath(projectKey))?.length ?? 0;
      const loss = this.audit.lossOf(projectKey, keptPosition, this.incarnation);
      await coordinator.audit.acceptLoss(projectKey, loss);
    }
    this.isLossAccepted = true;
    coordinator.close();
    process.kill();
  }
}

const grantKey = (event: { tenant_id: string; subject?: string; generation?: number }): string =>
  `${event.tenant_id} ${event.subject} ${event.generation}`;
