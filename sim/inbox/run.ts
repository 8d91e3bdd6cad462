import { CoverageCounter } from '../checks/coverage.js';
import type { SeedRunOptions } from '../scenario/scenario.js';
import { awaitInWorld, runToFirstViolation, SETTLING_MS_MAX, type SeedResult } from '../seed-result.js';
import { DiskImage } from '../world/disk-image.js';
import { SimWorld } from '../world/world.js';
import { InboxAgent, type InboxContext } from './agent.js';
import { CommandFileTracker } from './command-file-tracker.js';
import { checkInboxes } from './inbox-checks.js';
import { type InboxScenario, inboxScenarioOf } from './scenario.js';
import { SerialiserMachine } from './serialiser-machine.js';

const FAULTY_MS_MAX = 3600_000;
/** Checking after every step would take longer than the steps. */
const CHECK_EVERY_MS = 20;

/** Plays a seed in inbox mode, where agents only move files, to its end or to its first violation. */
export async function runInboxSeed(options: SeedRunOptions): Promise<SeedResult> {
  const { onTrace = null, ...run } = options;
  const coverage = new CoverageCounter();
  const world = new SimWorld(run.seed, onTrace);
  const seedRun = new InboxSeedRun(world, inboxScenarioOf(run), coverage);
  const violation = await runToFirstViolation(world, () => seedRun.run());
  return {
    run,
    topology: 'file',
    commands: seedRun.context.tracker.files.length,
    steps: world.steps,
    simulated_ms: world.now_ms,
    fingerprint: world.fingerprint(),
    violation,
    coverage: coverage.counts,
  };
}

class InboxSeedRun {
  readonly context: InboxContext;
  private readonly machine: SerialiserMachine;
  private readonly agents: readonly InboxAgent[];

  constructor(
    private readonly world: SimWorld,
    private readonly scenario: InboxScenario,
    coverage: CoverageCounter,
  ) {
    const diskImage = new DiskImage();
    const tracker = new CommandFileTracker(world, diskImage, isFairnessExpected(scenario));
    this.context = { world, diskImage, scenario, tracker, isOver: false };
    this.machine = new SerialiserMachine(this.context, coverage);
    this.agents = Array.from(
      { length: scenario.agents },
      (_, index) => new InboxAgent(this.context, `a-${index}`),
    );
  }

  async run(): Promise<void> {
    const { context, world, machine } = this;
    machine.start();
    for (const agent of this.agents) agent.run();
    await world.run(FAULTY_MS_MAX, () => context.tracker.files.length >= this.scenario.commands);
    context.isOver = true;
    machine.stopFaults();
    await this.settle();
    // Reported outcomes must survive this power loss; lost commands can be written again.
    machine.crash(true);
    await this.settle();
    await this.checkOutcome();
    for (const agent of this.agents) agent.writeAllAgain();
    await this.settle();
    await this.checkOutcome();
  }

  private async settle(): Promise<void> {
    const { world, machine, context } = this;
    const isSettled = (): boolean =>
      machine.isUp && this.agents.every((agent) => agent.isDone) && context.tracker.isEmpty;
    let nextCheckMs = world.now_ms;
    await world.run(world.now_ms + SETTLING_MS_MAX, () => {
      if (world.now_ms < nextCheckMs) return false;
      nextCheckMs += CHECK_EVERY_MS;
      return isSettled();
    });
    if (!isSettled())
      world.reportViolation('LIVE', 'not every command was answered after all faults had ended');
  }

  private async checkOutcome(): Promise<void> {
    const { world, scenario, context } = this;
    const contents = await awaitInWorld(world, this.machine.read());
    checkInboxes(world, scenario, context.tracker.files, contents);
    await world.run(world.now_ms, () => true);
  }
}

/** If the disk fails for one agent, the other agents are served meanwhile, so fairness cannot be expected. */
const isFairnessExpected = (scenario: InboxScenario): boolean =>
  scenario.write_failure_chance === 0 && scenario.disk_full_every_ms === null;
