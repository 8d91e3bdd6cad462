import { SimAgent } from './actors/agent.js';
import { CredentialRegistry } from './actors/credential.js';
import { SimExecutor } from './actors/executor.js';
import { FeedFollower } from './actors/follower.js';
import { SimOperator } from './actors/operator.js';
import { EdgeProjectSetup, SimProjectSetup } from './actors/project-setup.js';
import { SimReviewer } from './actors/reviewer.js';
import type { ActorContext, SimActor } from './actors/sim-actor.js';
import { CallHistory } from './checks/call-history.js';
import { CommitMonitor } from './checks/commit-monitor.js';
import { CoverageCounter } from './checks/coverage.js';
import { checkViews } from './checks/views.js';
import type { SimFleet } from './fleet/coordinator-instance.js';
import { FileFleet } from './fleet/file-fleet.js';
import { SharedFleet } from './fleet/shared-fleet.js';
import { runInboxSeed } from './inbox/run.js';
import { type Scenario, type SeedRunOptions, scenarioOf } from './scenario/scenario.js';
import { awaitInWorld, runToFirstViolation, SETTLING_MS_MAX, type SeedResult } from './seed-result.js';
import { Network } from './world/network.js';
import { SimWorld } from './world/world.js';

export type { SeedResult } from './seed-result.js';

const FAULTY_MS_MAX = 12 * 3600_000;

const LIVENESS_MS_MAX = 3 * 3600_000;
/**
 * Enough for ten agents that try again every second while unused sessions, which are idle for up to 900 seconds, fill the
 * limit of sessions. Actors that try again for ever are stopped here long before the time is up, because the log that they
 * fill makes each further step slower.
 */
const LIVENESS_COMMANDS_MAX = 25_000;

/** Plays one seed to its end or to its first violation. */
export async function runSeed(options: SeedRunOptions): Promise<SeedResult> {
  if (options.mode === 'inbox') return runInboxSeed(options);
  const { onTrace = null, ...run } = options;
  const scenario = scenarioOf(run);
  const coverage = new CoverageCounter();
  const world = new SimWorld(run.seed, onTrace);
  const seedRun = new SeedRun(world, scenario, coverage);
  const violation = await runToFirstViolation(world, () => seedRun.run());
  return {
    run,
    topology: scenario.topology,
    commands: seedRun.context.commands,
    steps: world.steps,
    simulated_ms: world.now_ms,
    fingerprint: world.fingerprint(),
    violation,
    coverage: coverage.counts,
  };
}

class SeedRun {
  readonly context: ActorContext;
  private readonly followers: FeedFollower[] = [];
  /** One per project: the actor that sets the policy and the plan. */
  private readonly setups: SimProjectSetup[] = [];
  private runsAtFaultEnd: ReadonlySet<string> = new Set();

  constructor(
    private readonly world: SimWorld,
    private readonly scenario: Scenario,
    coverage: CoverageCounter,
  ) {
    const projects = [{ tenant_id: 't1', project_id: 'p' }];
    if (scenario.has('second_tenant') && scenario.mode !== 'runs')
      projects.push({ tenant_id: 't2', project_id: 'p' });
    const monitor = new CommitMonitor(world, coverage, scenario.limits, scenario.topology === 'file');
    const credentials = new CredentialRegistry(world);
    const simContext = { world, scenario, coverage, monitor, projects, credentials };
    const fleet: SimFleet =
      scenario.topology === 'file' ? new FileFleet(simContext) : new SharedFleet(simContext);
    const { loss_chance, double_chance, delay_chance } = scenario.rates;
    const delay_max_ms = scenario.lease_seconds * 1500;
    const network = new Network(
      world,
      { loss_chance, double_chance, delay_chance, delay_max_ms },
      world.rng.fork('network'),
    );
    const history = new CallHistory(world, monitor, coverage, () => fleet.incarnation);
    this.context = { ...simContext, fleet, network, history, phase: 'random', commands: 0, pendingCalls: 0 };
  }

  async run(): Promise<void> {
    const { context, world, scenario } = this;
    context.fleet.start();
    for (const actor of this.createActors()) void actor.run();
    await world.run(FAULTY_MS_MAX, () => context.commands >= scenario.commands);
    this.stopFaults();
    if (scenario.mode !== 'safety') await this.runUntilDone();
    context.phase = 'stopped';
    await world.run(world.now_ms + SETTLING_MS_MAX, () => context.pendingCalls === 0 && context.fleet.isUp);
    if (!context.fleet.isUp)
      world.reportViolation('LIVE', 'the fleet did not recover after all faults had ended');
    await awaitInWorld(world, this.checkFinalState());
  }

  private createActors(): Pick<SimActor, 'run'>[] {
    const { context, scenario } = this;
    return context.projects.flatMap((projectKey, tenantIndex): Pick<SimActor, 'run'>[] => {
      const setup = new (scenario.mode === 'runs' ? EdgeProjectSetup : SimProjectSetup)(
        context,
        projectKey,
        'lead',
        'lead',
      );
      const follower = new FeedFollower(context, projectKey);
      this.setups.push(setup);
      this.followers.push(follower);
      if (scenario.mode === 'runs') {
        const executors = ['a', 'b', 'c'].map((id) => new SimExecutor(context, projectKey, `executor-${id}`));
        return [setup, follower, ...executors, new SimReviewer(context, projectKey, 'human', 'grace')];
      }
      const count = tenantIndex === 0 ? scenario.agents : 2;
      const agents = Array.from({ length: count }, (_, index) => {
        const sessionId = `s${index % scenario.sessions}`;
        // Credentials of one user may share a session. Every fourth agent has no user and needs its own session.
        const userId = index % 4 === 3 ? null : `user-of-${sessionId}`;
        return new SimAgent(context, projectKey, `agent-${index}`, sessionId, userId);
      });
      const hasOperator = scenario.has('humans') || scenario.mode === 'liveness';
      return [
        setup,
        follower,
        ...agents,
        ...(hasOperator ? [new SimOperator(context, projectKey, 'human', 'grace')] : []),
      ];
    });
  }

  private stopFaults(): void {
    const { faults } = this.context.network;
    Object.assign(faults, { loss_chance: 0, double_chance: 0, delay_chance: 0 });
    this.context.fleet.stopFaults();
  }

  /** L1 and L2: once the faults stop, all work that can be done is completed. */
  private async runUntilDone(): Promise<void> {
    const { context, world } = this;
    context.phase = 'completing';
    const openRunIds = context.projects.flatMap((projectKey) =>
      context.monitor.projectMonitor(projectKey).runs.openRunIds(),
    );
    this.runsAtFaultEnd = new Set(openRunIds);
    const commandsMax = context.commands + LIVENESS_COMMANDS_MAX;
    let checkedEvents = -1;
    await world.run(world.now_ms + LIVENESS_MS_MAX, () => {
      if (context.commands >= commandsMax) return true;
      const { events_seen } = context.monitor;
      // Only a new event can have completed anything.
      if (events_seen === checkedEvents) return false;
      checkedEvents = events_seen;
      return this.openWork().length === 0;
    });
    const unfinished = this.openWork();
    if (unfinished.length > 0)
      world.reportViolation('L1', `not completed after all faults had ended: ${unfinished.join(', ')}`);
  }

  private openWork(): string[] {
    if (this.setups.some((setup) => !setup.isSetUp)) return ['the plan itself'];
    if (this.scenario.mode === 'runs') return this.openRuns();
    return this.context.projects.flatMap((projectKey) => {
      const { plan, heads } = this.context.monitor.projectMonitor(projectKey).state;
      return [...plan.subjects()].filter((subject) => heads.get(subject)?.phase !== 'COMPLETED');
    });
  }

  /** Runs that were open when the faults ended. Executors keep trying these runs, and a person decides what they wait for. */
  private openRuns(): string[] {
    return this.context.projects.flatMap((projectKey) => {
      const { runs } = this.context.monitor.projectMonitor(projectKey);
      return runs.openRunIds().filter((id) => this.runsAtFaultEnd.has(id));
    });
  }

  private async checkFinalState(): Promise<void> {
    const { context, world } = this;
    await context.fleet.finish();
    context.history.finish();
    for (const follower of this.followers) follower.finish();
    for (let index = 0; index < context.fleet.size; index += 1) {
      const instance = context.fleet.instanceAt(index);
      if (instance === null) continue;
      for (const projectKey of context.projects)
        await checkViews(world, instance, context.monitor.projectMonitor(projectKey));
    }
  }
}
