import { executeRun, type RunHost } from '../../src/engine/runs/execute-run.js';
import { derivedRunId } from '../../src/engine/runs/run-events.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { EDGES_UNDER_TEST } from '../runs/edges.js';
import { simCoordination } from '../runs/sim-coordination.js';
import { simServices } from '../runs/sim-services.js';
import { SimProcess } from '../world/process.js';
import type { Rng } from '../world/rng.js';
import { type CallOutcome, SimClient } from './client.js';
import { CommandFactory, type SimCommand } from './commands.js';
import { type ActorContext, callerOf } from './sim-actor.js';

/** The shortest lease of an executor, longer than the interval of its renewals (ten seconds). */
const LEASE_SECONDS_MIN = 15;
/** Share of calls at which the process dies: before the call is sent, while it is in transit, or after its reply. */
const CRASH_CHANCE = 0.02;
const CRASH_DELAY_MS_MAX = 40;

/**
 * Runs edges with the real engine. Its process may die at any call and start again, may be frozen for longer than its lease,
 * and may be cut off from the network. Other executors compete for the same edges.
 */
export class SimExecutor {
  private readonly commands: CommandFactory;
  private readonly rng: Rng;
  private processCount = 0;
  private pendingCalls = 0;
  private process: SimProcess;

  constructor(
    private readonly context: ActorContext,
    private readonly projectKey: ProjectKey,
    private readonly name: string,
  ) {
    this.rng = context.world.rng.fork(`${projectKey.tenant_id} ${name}`);
    this.commands = new CommandFactory(
      projectKey,
      name,
      callerOf(projectKey, name, null),
      context.credentials,
    );
    this.process = this.newProcess();
    this.scheduleFaults();
  }

  async run(): Promise<void> {
    const { context, process, rng } = this;
    const client = new SimClient(process, context, rng.fork(`client ${this.processCount}`));
    while (context.phase !== 'stopped') {
      await process.sleep(rng.exponential(context.scenario.think_ms), 'looks for work');
      await this.runEdge(process, client);
    }
  }

  private async runEdge(process: SimProcess, client: SimClient): Promise<void> {
    const { context, projectKey, rng, name, commands } = this;
    const edge = rng.pick(EDGES_UNDER_TEST);
    const { feature_id } = edge;
    const lease_seconds = Math.max(context.scenario.lease_seconds, LEASE_SECONDS_MIN);
    const request = { ...projectKey, feature_id, edge: edge.edge, agent_role: 'full_stack', lease_seconds };
    const call = (command: SimCommand) => this.call(process, client, command);
    const coordination = simCoordination({
      commands,
      call,
      knowledge: context.monitor.projectMonitor(projectKey).runs.newExecution(name),
    });
    const services = simServices({ context, projectKey, process, rng, agent_id: name, coordination }, edge);
    try {
      const end = await executeRun(request, services, this.runHost(process), NEVER_ABORTED);
      context.world.trace(`${process.name} ${edge.subject}: ${end.status}`);
      if (end.status === 'CLAIM_LOST') context.coverage.hit('late step refused');
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      context.world.trace(`${process.name} ${edge.subject}: ${String(error)}`);
    }
  }

  private runHost(process: SimProcess): RunHost {
    const { rng } = this;
    return {
      newRunId: derivedRunId,
      // No stop signal is needed: a simulated executor is never told to stop. Its process dies instead.
      sleep: (seconds) => process.sleep(seconds * 1000, 'waits before it tries a step again'),
      random: () => rng.float(),
      setTimer: process.environment().setTimer,
    };
  }

  private async call(process: SimProcess, client: SimClient, command: SimCommand): Promise<CallOutcome> {
    const { context, rng } = this;
    if (context.phase === 'stopped' || !process.isAlive) return new Promise(() => {});
    const crash = this.crashPoint();
    if (crash === 'before') {
      this.die();
      return new Promise(() => {});
    }
    context.commands += 1;
    context.pendingCalls += 1;
    this.pendingCalls += 1;
    if (crash === 'on its way')
      context.world.schedule(rng.between(0, CRASH_DELAY_MS_MAX), 'dies during a call', () =>
        this.die(process),
      );
    const outcome = await client.call(command);
    context.pendingCalls -= 1;
    this.pendingCalls -= 1;
    if (crash === 'after') {
      this.die();
      return new Promise(() => {});
    }
    return outcome;
  }

  private crashPoint(): 'before' | 'on its way' | 'after' | null {
    const { context, rng } = this;
    if (context.phase !== 'random' || !context.scenario.has('crash') || !rng.chance(CRASH_CHANCE))
      return null;
    return rng.pick(['before', 'on its way', 'after']);
  }

  /** Kills the process, and starts it again after a while. */
  private die(process = this.process): void {
    const { context, rng, projectKey } = this;
    if (process !== this.process || !process.isAlive) return;
    process.kill();
    context.coverage.hit('executor crash');
    context.pendingCalls -= this.pendingCalls;
    this.pendingCalls = 0;
    const afterMs = rng.exponential(context.scenario.lease_seconds * 500);
    context.world.schedule(afterMs, `${projectKey.tenant_id}/${this.name} is started`, () => {
      this.process = this.newProcess();
      void this.run();
    });
  }

  private newProcess(): SimProcess {
    const { context, projectKey, name, rng } = this;
    this.processCount += 1;
    return new SimProcess(
      context.world,
      `${projectKey.tenant_id}/${name}.${this.processCount}`,
      rng.fork(`process ${this.processCount}`),
    );
  }

  private scheduleFaults(): void {
    const { rates, lease_seconds } = this.context.scenario;
    const leaseMs = Math.max(lease_seconds, LEASE_SECONDS_MIN) * 1000;
    const rng = this.rng.fork('stumbles');
    const scheduleNext = (meanMs: number | null, inflict: () => void): void => {
      if (meanMs === null) return;
      this.context.world.schedule(rng.exponential(meanMs * 2), 'stumble', () => {
        if (this.context.phase !== 'random') return;
        inflict();
        scheduleNext(meanMs, inflict);
      });
    };
    scheduleNext(rates.agent_freeze_every_ms, () => this.process.freeze(leaseMs * rng.between(0.1, 3)));
    scheduleNext(rates.partition_every_ms, () =>
      this.context.network.partition(this.process.name, leaseMs * rng.between(0.1, 2)),
    );
  }
}

const NEVER_ABORTED = new AbortController().signal;

const isUnavailable = (error: unknown): boolean =>
  error instanceof Error && error.name === 'Engine.Unavailable';
