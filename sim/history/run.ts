import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { skewMarginMs } from '../../src/coordinator/store-time.js';
import { ENTERPRISE_LIMITS, type Limits } from '../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { AnyHead } from '../../src/core/fold.js';
import { openStoreUrl } from '../../src/server/store-url.js';
import type { ProjectKey, Store, StoreCapabilities } from '../../src/stores/store.js';
import { type Bundled, bundled } from '../../test/support/bundled.js';
import { Rng } from '../world/rng.js';
import { Board } from './board.js';
import { checkHistory, type Violation } from './check.js';
import { Client } from './client.js';
import { CoordinatorProcess, PROGRAM } from './coordinators.js';
import { Door } from './door.js';
import { type Call, Recorder } from './history.js';
import { networkPlaceOf, TcpProxy, type Trouble, throughPort } from './proxy.js';

export interface RunOptions {
  readonly store: string;
  readonly seconds: number;
  readonly clients: number;
  /** A store with one writer has one. */
  readonly coordinators: number;
  readonly proxy: 'none' | 'agents' | 'store' | 'both';
  readonly seed: string;
  /** Ends the engine and starts it again, in the middle of the run. */
  readonly restartEngine?: () => Promise<void>;
}

export interface RunResult {
  readonly capabilities: StoreCapabilities;
  readonly coordinators: number;
  readonly calls: readonly Call[];
  readonly events: readonly EventEnvelope[];
  /** What was done to the run, and when. */
  readonly faults: readonly string[];
  readonly troubles: Readonly<Partial<Record<'agents' | 'store', Record<Trouble, number>>>>;
  /** Coordinators that ended by themselves, with what they said last. */
  readonly ended: readonly string[];
  readonly violations: readonly Violation[];
}

/** How far the store's clock may be from where the calls show it: its drift, and what a coordinator lags behind it. */
const TOLERANCE_MS = 200;
/** For a store that hangs. */
const ANSWERED_WITHIN_MS = 10 * 60_000;
const TASKS_PER_SECOND = 40;
const ZOMBIES_SHARE = 0.1;
const PAGE = 1000;
/** Nobody is held for failing often: leases run out all the time here. */
const POLICY = { max_attempts: 1000, sweep_interval_seconds: 2 };

/** So few may hold something at once that there is often no room. */
const limitsFor = (clients: number): Limits => ({
  ...ENTERPRISE_LIMITS,
  min_lease_duration_seconds: 1,
  max_concurrent_claims: Math.max(2, Math.floor(clients * 0.7)),
  max_generations_per_task: 1_000_000,
  max_active_sessions: 10_000,
});

/** Plays a history on a real store and judges it. */
export async function runHistory(options: RunOptions): Promise<RunResult> {
  const capabilities = await reading(options.store, async (store) => store.capabilities);
  const key = { tenant_id: `history-${Date.now().toString(36)}`, project_id: 'run' };
  const limits = limitsFor(options.clients);
  const run = new Run(options, key, limits);
  try {
    await run.start(capabilities.single_writer ? 1 : options.coordinators);
    await run.play();
  } finally {
    await run.stop();
  }
  const { calls } = run.recorder;
  const { events, heads } = await reading(options.store, (store) => readAll(store, key));
  const { durable } = capabilities;
  const terms = {
    limits,
    durable,
    skew_margin_ms: skewMarginMs({ capabilities }),
    tolerance_ms: TOLERANCE_MS,
  };
  const violations = checkHistory({ calls, events, heads }, terms);
  return { capabilities, calls, events, violations, ...run.summary() };
}

class Run {
  readonly recorder = new Recorder();
  private readonly rng: Rng;
  private readonly board: Board;
  private program: Bundled | null = null;
  private coordinators: CoordinatorProcess[] = [];
  private readonly proxies: { side: 'agents' | 'store'; proxy: TcpProxy }[] = [];
  private readonly doors: Door[] = [];
  private readonly faults: string[] = [];
  private began_ms = 0;

  constructor(
    private readonly options: RunOptions,
    private readonly key: ProjectKey,
    private readonly limits: Limits,
  ) {
    const { clients, seconds, seed } = options;
    this.rng = new Rng(seed);
    this.board = new Board(clients + Math.ceil(TASKS_PER_SECOND * seconds), clients);
  }

  async start(coordinators: number): Promise<void> {
    const { limits } = this;
    const store = await this.storeUrl();
    this.program = await bundled(PROGRAM);
    const { script } = this.program;
    const names = Array.from({ length: coordinators }, (_, index) => `coordinator-${index + 1}`);
    const starting = names.map((name) => CoordinatorProcess.start(name, script, { store, port: 0, limits }));
    const started = await Promise.allSettled(starting);
    this.coordinators = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    for (const one of started) if (one.status === 'rejected') throw one.reason;
    for (const { name, port } of this.coordinators) this.doors.push(await this.doorTo(name, port));
    await this.doors[0]?.put('/plan', this.board.plan());
    await this.doors[0]?.put('/policy', POLICY);
  }

  async play(): Promise<void> {
    const { recorder, board, doors, options } = this;
    this.began_ms = performance.now();
    for (const { proxy } of this.proxies) proxy.calm = false;
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    const scene = { recorder, board, doors, stop: over.signal };
    const zombies = Math.max(1, Math.round(options.clients * ZOMBIES_SHARE));
    const clients = Array.from({ length: options.clients }, (_, index) => {
      const name = `agent-${index + 1}`;
      return new Client(scene, name, this.rng.fork(name), index < zombies);
    });
    const lived = clients.map((client) => client.live());
    await this.disturb().finally(() => over.abort());
    await Promise.all(lived);
  }

  /** Whoever still waits for an answer gets it; what is held back on the way is lost. */
  async stop(): Promise<void> {
    for (const { proxy } of this.proxies) proxy.calm = true;
    for (const door of this.doors) door.close();
    await Promise.all(this.coordinators.map((coordinator) => coordinator.stop()));
    await Promise.all(this.proxies.map(({ proxy }) => proxy.close()));
    await this.program?.remove();
  }

  summary(): Pick<RunResult, 'coordinators' | 'faults' | 'troubles' | 'ended'> {
    const troubles: Partial<Record<'agents' | 'store', Record<Trouble, number>>> = {};
    for (const { side, proxy } of this.proxies) troubles[side] = sum(troubles[side], proxy.counts);
    const ended = this.coordinators.flatMap((coordinator) => coordinator.ended ?? []);
    return { coordinators: this.coordinators.length, faults: this.faults, troubles, ended };
  }

  /**
   * What happens to everybody in the middle of the run, which lasts as long as that takes and a while longer: on a slow
   * machine until somebody was granted something, somebody was refused, and somebody was answered after each fault.
   */
  private async disturb(): Promise<void> {
    await this.third(1);
    await this.seen(isGrant);
    const victim = this.rng.pick(this.coordinators);
    await this.fault(`${victim.name} killed with SIGKILL and started again`, () => victim.restart());
    await this.third(2);
    const { restartEngine } = this.options;
    if (restartEngine !== undefined) await this.fault('the engine restarted', restartEngine);
    await this.third(3);
    await this.seen(isRefusal);
  }

  /** Until a third of the run is over, by the clock, and somebody has been answered meanwhile. */
  private async third(number: number): Promise<void> {
    const third_ms = (this.options.seconds * 1000) / 3;
    const next = this.recorder.calls.length + 1;
    await sleep(Math.max(third_ms / 2, this.began_ms + number * third_ms - performance.now()));
    await this.seen(isAnswer, next);
  }

  private async seen(isIt: (call: Call) => boolean, from = 1): Promise<void> {
    const late = sleep(ANSWERED_WITHIN_MS, undefined, { ref: false }).then(() => {
      throw new Error(`Nobody was answered for ${ANSWERED_WITHIN_MS / 60_000} minutes.`);
    });
    await Promise.race([this.recorder.seen(isIt, from), late]);
  }

  private async fault(what: string, inflict: () => Promise<void>): Promise<void> {
    const from_ms = performance.now();
    await inflict();
    const at = ((from_ms - this.began_ms) / 1000).toFixed(1);
    this.faults.push(`${what} at ${at} s, back after ${((performance.now() - from_ms) / 1000).toFixed(1)} s`);
  }

  private async storeUrl(): Promise<string> {
    const { store, proxy } = this.options;
    if (proxy !== 'store' && proxy !== 'both') return store;
    const place = networkPlaceOf(store);
    if (place === null)
      throw new Error('This store is not reached over the network: say --proxy agents or none.');
    return throughPort(store, await this.proxyTo(place, 'store'));
  }

  private async doorTo(name: string, port: number): Promise<Door> {
    const { proxy } = this.options;
    const direct = proxy !== 'agents' && proxy !== 'both';
    const reached = direct ? port : await this.proxyTo({ host: '127.0.0.1', port }, 'agents');
    return new Door(name, reached, `/api/tenants/${this.key.tenant_id}/projects/${this.key.project_id}`);
  }

  private async proxyTo(target: { host: string; port: number }, side: 'agents' | 'store'): Promise<number> {
    const proxy = await TcpProxy.start(target, this.rng.fork(`${side}-${this.proxies.length}`));
    this.proxies.push({ side, proxy });
    return proxy.port;
  }
}

const isRefusal = ({ answer }: Call): boolean => answer.kind === 'refused';
const isAnswer = ({ answer }: Call): boolean => answer.kind === 'ok' || answer.kind === 'refused';
const isGrant = ({ asked, answer }: Call): boolean => asked.operation === 'claim' && answer.kind === 'ok';

function sum(
  one: Record<Trouble, number> | undefined,
  other: Record<Trouble, number>,
): Record<Trouble, number> {
  if (one === undefined) return { ...other };
  const names = Object.keys(other) as Trouble[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as Record<Trouble, number>;
}

async function reading<T>(url: string, read: (store: Store) => Promise<T>): Promise<T> {
  const { store } = await openStoreUrl(url, () => {});
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

async function readAll(store: Store, key: ProjectKey) {
  const events: EventEnvelope[] = [];
  for (let page: EventEnvelope[] | null = null; page === null || page.length === PAGE; ) {
    page = await store.events(key, { after: events[events.length - 1]?.position ?? 0, limit: PAGE });
    events.push(...page);
  }
  const heads: AnyHead[] = [];
  for (let page: AnyHead[] | null = null; page === null || page.length === PAGE; ) {
    const after = heads[heads.length - 1]?.subject ?? null;
    page = (await store.scanHeads(key, { after, limit: PAGE })) as AnyHead[];
    heads.push(...page);
  }
  return { events, heads };
}
