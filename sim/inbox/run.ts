import { Reached } from '../checks/sometimes.js';
import type { RunOptions } from '../scenario/scenario.js';
import { playOut, SETTLING_MS_MAX, type SeedResult, within } from '../seed-result.js';
import { Platter } from '../world/platter.js';
import { World } from '../world/world.js';
import { InboxAgent, type InboxStage } from './agent.js';
import { judgeInboxes } from './judge.js';
import { Machine } from './machine.js';
import { Post } from './post.js';
import { type InboxScenario, inboxScenarioOf } from './scenario.js';

const WILD_MS_MAX = 3600_000;
/** To look at everything after every step would take longer than the steps. */
const LOOK_EVERY_MS = 20;

/** Plays a seed in which agents only move files, to its end or to its first violation. */
export async function runInboxSeed(options: RunOptions): Promise<SeedResult> {
  const { onTrace = null, ...run } = options;
  const reached = new Reached();
  const world = new World(run.seed, onTrace);
  const play = new InboxPlay(world, inboxScenarioOf(run), reached);
  const violation = await playOut(world, () => play.perform());
  return {
    run,
    topology: 'file',
    commands: play.stage.post.letters.length,
    steps: world.steps,
    simulated_ms: world.now_ms,
    fingerprint: world.fingerprint(),
    violation,
    sometimes: reached.counts,
  };
}

class InboxPlay {
  readonly stage: InboxStage;
  private readonly machine: Machine;
  private readonly agents: readonly InboxAgent[];

  constructor(
    private readonly world: World,
    private readonly scenario: InboxScenario,
    reached: Reached,
  ) {
    const platter = new Platter();
    const post = new Post(world, platter, isPatient(scenario));
    this.stage = { world, platter, scenario, post, isOver: false };
    this.machine = new Machine(this.stage, reached);
    this.agents = Array.from({ length: scenario.agents }, (_, at) => new InboxAgent(this.stage, `a-${at}`));
  }

  async perform(): Promise<void> {
    const { stage, world, machine } = this;
    machine.start();
    for (const agent of this.agents) agent.live();
    await world.run(WILD_MS_MAX, () => stage.post.letters.length >= this.scenario.commands);
    stage.isOver = true;
    machine.calm();
    await this.settle();
    // What was told must outlast this, and what is lost by it can be asked again.
    machine.crash(true);
    await this.settle();
    await this.judge();
    for (const agent of this.agents) agent.dropAllAgain();
    await this.settle();
    await this.judge();
  }

  private async settle(): Promise<void> {
    const { world, machine, stage } = this;
    const isSettled = (): boolean =>
      machine.isUp && this.agents.every((agent) => agent.isContent) && stage.post.isEmpty;
    let look_ms = world.now_ms;
    await world.run(world.now_ms + SETTLING_MS_MAX, () => {
      if (world.now_ms < look_ms) return false;
      look_ms += LOOK_EVERY_MS;
      return isSettled();
    });
    if (!isSettled()) world.violate('LIVE', 'not every letter was answered after all faults had ceased');
  }

  private async judge(): Promise<void> {
    const { world, scenario, stage } = this;
    const found = await within(world, this.machine.read());
    judgeInboxes(world, scenario, stage.post.letters, found);
    await world.run(world.now_ms, () => true);
  }
}

/** Where the disk fails one agent, the others go on without it: there is no fair share to be had. */
const isPatient = (scenario: InboxScenario): boolean =>
  scenario.write_failure_chance === 0 && scenario.disk_full_every_ms === null;
