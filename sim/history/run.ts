import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { skewMarginMs } from '../../src/coordinator/queue/store-time.js';
import { ENTERPRISE_LIMITS, type Limits } from '../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { AnyHead } from '../../src/core/fold.js';
import { openStoreUrl } from '../../src/server/store-url.js';
import type { ProjectKey, Store, StoreCapabilities } from '../../src/stores/store.js';
import { type BundledScript, bundleScript } from '../../test/support/bundle-script.js';
import { Rng } from '../world/rng.js';
import { checkHistory, type HistoryViolation } from './check.js';
import { HistoryClient } from './client.js';
import { CoordinatorEndpoint } from './coordinator-endpoint.js';
import { COORDINATOR_SCRIPT, CoordinatorProcess } from './coordinator-process.js';
import { CallRecorder, type RecordedCall } from './history.js';
import { type ConnectionFault, networkAddressOf, storeUrlAtPort, TcpProxy } from './proxy.js';
import { TaskPool } from './task-pool.js';

export interface HistoryRunOptions {
  readonly store: string;
  readonly seconds: number;
  readonly clients: number;
  /** Ignored for a single-writer store, which has one coordinator. */
  readonly coordinators: number;
  readonly proxy: 'none' | 'agents' | 'store' | 'both';
  readonly seed: string;
  /** Stops and restarts the database, in the middle of the run. */
  readonly restartDatabase?: () => Promise<void>;
}

export interface HistoryRunResult {
  readonly capabilities: StoreCapabilities;
  readonly coordinators: number;
  readonly calls: readonly RecordedCall[];
  readonly events: readonly EventEnvelope[];
  /** The injected faults, with their times. */
  readonly faults: readonly string[];
  readonly connectionFaults: Readonly<Partial<Record<'agents' | 'store', Record<ConnectionFault, number>>>>;
  /** Coordinators that exited on their own, with their last output. */
  readonly unexpectedExits: readonly string[];
  readonly violations: readonly HistoryViolation[];
}

/**
 * Allowed difference between the store's clock and the calls' estimate of it: the drift of that clock, and the lag of a
 * coordinator behind it.
 */
const CLOCK_TOLERANCE_MS = 200;
/** Timeout for a store that hangs. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;
const TASKS_PER_SECOND = 40;
const ZOMBIES_SHARE = 0.1;
const PAGE_ITEMS = 1000;
/** Allows so many attempts that no subject is put on hold after failures, because leases expire all the time here. */
const POLICY = { max_attempts: 1000, sweep_interval_seconds: 2 };

/** Allows fewer claims than clients, so that the limit is often reached. */
const limitsFor = (clients: number): Limits => ({
  ...ENTERPRISE_LIMITS,
  min_lease_duration_seconds: 1,
  max_concurrent_claims: Math.max(2, Math.floor(clients * 0.7)),
  max_generations_per_task: 1_000_000,
  max_active_sessions: 10_000,
});

/** Runs a history on a real store and checks it. */
export async function runHistory(options: HistoryRunOptions): Promise<HistoryRunResult> {
  const capabilities = await withStore(options.store, async (store) => store.capabilities);
  const projectKey = { tenant_id: `history-${Date.now().toString(36)}`, project_id: 'run' };
  const limits = limitsFor(options.clients);
  const run = new HistoryRun(options, projectKey, limits);
  try {
    await run.start(capabilities.single_writer ? 1 : options.coordinators);
    await run.run();
  } finally {
    await run.stop();
  }
  const { calls } = run.recorder;
  const { events, heads } = await withStore(options.store, (store) => readAll(store, projectKey));
  const { durable } = capabilities;
  const checkOptions = {
    limits,
    isDurable: durable,
    skew_margin_ms: skewMarginMs({ capabilities }),
    tolerance_ms: CLOCK_TOLERANCE_MS,
  };
  const violations = checkHistory({ calls, events, heads }, checkOptions);
  return { capabilities, calls, events, violations, ...run.summary() };
}

class HistoryRun {
  readonly recorder = new CallRecorder();
  private readonly rng: Rng;
  private readonly taskPool: TaskPool;
  private program: BundledScript | null = null;
  private coordinators: CoordinatorProcess[] = [];
  private readonly proxies: { side: 'agents' | 'store'; proxy: TcpProxy }[] = [];
  private readonly endpoints: CoordinatorEndpoint[] = [];
  private readonly faults: string[] = [];
  private startMs = 0;

  constructor(
    private readonly options: HistoryRunOptions,
    private readonly projectKey: ProjectKey,
    private readonly limits: Limits,
  ) {
    const { clients, seconds, seed } = options;
    this.rng = new Rng(seed);
    this.taskPool = new TaskPool(clients + Math.ceil(TASKS_PER_SECOND * seconds), clients);
  }

  async start(coordinators: number): Promise<void> {
    const { limits } = this;
    const store = await this.storeUrl();
    this.program = await bundleScript(COORDINATOR_SCRIPT);
    const { script } = this.program;
    const names = Array.from({ length: coordinators }, (_, index) => `coordinator-${index + 1}`);
    const starting = names.map((name) => CoordinatorProcess.start(name, script, { store, port: 0, limits }));
    const started = await Promise.allSettled(starting);
    this.coordinators = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    for (const result of started) if (result.status === 'rejected') throw result.reason;
    for (const { name, port } of this.coordinators) this.endpoints.push(await this.endpointTo(name, port));
    await this.endpoints[0]?.put('/plan', this.taskPool.plan());
    await this.endpoints[0]?.put('/policy', POLICY);
  }

  async run(): Promise<void> {
    const { recorder, taskPool, endpoints, options } = this;
    this.startMs = performance.now();
    for (const { proxy } of this.proxies) proxy.isTransparent = false;
    const endController = new AbortController();
    setMaxListeners(0, endController.signal);
    const context = { recorder, taskPool, endpoints, stop: endController.signal };
    const zombies = Math.max(1, Math.round(options.clients * ZOMBIES_SHARE));
    const clients = Array.from({ length: options.clients }, (_, index) => {
      const name = `agent-${index + 1}`;
      return new HistoryClient(context, name, this.rng.fork(name), index < zombies);
    });
    const running = clients.map((client) => client.run());
    await this.injectFaults().finally(() => endController.abort());
    await Promise.all(running);
  }

  /** Ends the faults first, so that the coordinators reach their store while they stop. Data delayed in a proxy is lost. */
  async stop(): Promise<void> {
    for (const { proxy } of this.proxies) proxy.isTransparent = true;
    for (const endpoint of this.endpoints) endpoint.close();
    await Promise.all(this.coordinators.map((coordinator) => coordinator.stop()));
    await Promise.all(this.proxies.map(({ proxy }) => proxy.close()));
    await this.program?.remove();
  }

  summary(): Pick<HistoryRunResult, 'coordinators' | 'faults' | 'connectionFaults' | 'unexpectedExits'> {
    const connectionFaults: Partial<Record<'agents' | 'store', Record<ConnectionFault, number>>> = {};
    for (const { side, proxy } of this.proxies)
      connectionFaults[side] = sumOfFaults(connectionFaults[side], proxy.counts);
    const unexpectedExits = this.coordinators.flatMap((coordinator) => coordinator.exitMessage ?? []);
    return { coordinators: this.coordinators.length, faults: this.faults, connectionFaults, unexpectedExits };
  }

  /**
   * Injects the faults in the middle of the run, and waits until its time is over. On a slow machine the run takes longer:
   * until there was a grant, a refusal, and a reply after each fault.
   */
  private async injectFaults(): Promise<void> {
    await this.waitForThird(1);
    await this.waitForCall(isGrant);
    const victim = this.rng.pick(this.coordinators);
    await this.injectFault(`${victim.name} killed with SIGKILL and restarted`, () => victim.restart());
    await this.waitForThird(2);
    const { restartDatabase } = this.options;
    if (restartDatabase !== undefined) await this.injectFault('the database restarted', restartDatabase);
    await this.waitForThird(3);
    await this.waitForCall(isRefusal);
  }

  /** Waits until this third of the run is over, by the clock, and a reply has arrived meanwhile. */
  private async waitForThird(thirds: number): Promise<void> {
    const thirdMs = (this.options.seconds * 1000) / 3;
    const nextCallNumber = this.recorder.calls.length + 1;
    await sleep(Math.max(thirdMs / 2, this.startMs + thirds * thirdMs - performance.now()));
    await this.waitForCall(isAnswer, nextCallNumber);
  }

  private async waitForCall(matches: (call: RecordedCall) => boolean, fromCallNumber = 1): Promise<void> {
    const timeout = sleep(ANSWER_TIMEOUT_MS, undefined, { ref: false }).then(() => {
      throw new Error(
        `The expected reply did not come within ${ANSWER_TIMEOUT_MS / 60_000} minutes. Check the store.`,
      );
    });
    await Promise.race([this.recorder.waitFor(matches, fromCallNumber), timeout]);
  }

  private async injectFault(description: string, inflict: () => Promise<void>): Promise<void> {
    const fromMs = performance.now();
    await inflict();
    const at = ((fromMs - this.startMs) / 1000).toFixed(1);
    this.faults.push(
      `${description} at ${at} s, back after ${((performance.now() - fromMs) / 1000).toFixed(1)} s`,
    );
  }

  private async storeUrl(): Promise<string> {
    const { store, proxy } = this.options;
    if (proxy !== 'store' && proxy !== 'both') return store;
    const address = networkAddressOf(store);
    if (address === null)
      throw new Error('This store is not reached over the network: pass --proxy agents or none.');
    return storeUrlAtPort(store, await this.proxyTo(address, 'store'));
  }

  private async endpointTo(name: string, port: number): Promise<CoordinatorEndpoint> {
    const { proxy } = this.options;
    const hasProxy = proxy === 'agents' || proxy === 'both';
    const reachedPort = hasProxy ? await this.proxyTo({ host: '127.0.0.1', port }, 'agents') : port;
    return new CoordinatorEndpoint(
      name,
      reachedPort,
      `/api/tenants/${this.projectKey.tenant_id}/projects/${this.projectKey.project_id}`,
    );
  }

  private async proxyTo(target: { host: string; port: number }, side: 'agents' | 'store'): Promise<number> {
    const proxy = await TcpProxy.start(target, this.rng.fork(`${side}-${this.proxies.length}`));
    this.proxies.push({ side, proxy });
    return proxy.port;
  }
}

const isRefusal = ({ outcome }: RecordedCall): boolean => outcome.kind === 'refused';
const isAnswer = ({ outcome }: RecordedCall): boolean => outcome.kind === 'ok' || outcome.kind === 'refused';
const isGrant = ({ request, outcome }: RecordedCall): boolean =>
  request.operation === 'claim' && outcome.kind === 'ok';

function sumOfFaults(
  one: Record<ConnectionFault, number> | undefined,
  other: Record<ConnectionFault, number>,
): Record<ConnectionFault, number> {
  if (one === undefined) return { ...other };
  const names = Object.keys(other) as ConnectionFault[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as Record<
    ConnectionFault,
    number
  >;
}

async function withStore<T>(url: string, read: (store: Store) => Promise<T>): Promise<T> {
  const { store } = await openStoreUrl(url, () => {});
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

async function readAll(store: Store, projectKey: ProjectKey) {
  const events: EventEnvelope[] = [];
  for (let page: EventEnvelope[] | null = null; page === null || page.length === PAGE_ITEMS; ) {
    page = await store.events(projectKey, {
      after: events[events.length - 1]?.position ?? 0,
      limit: PAGE_ITEMS,
    });
    events.push(...page);
  }
  const heads: AnyHead[] = [];
  for (let page: AnyHead[] | null = null; page === null || page.length === PAGE_ITEMS; ) {
    const after = heads[heads.length - 1]?.subject ?? null;
    page = (await store.scanHeads(projectKey, { after, limit: PAGE_ITEMS })) as AnyHead[];
    heads.push(...page);
  }
  return { events, heads };
}
