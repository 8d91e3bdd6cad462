import { Agent } from './actors/agent.js';
import { Credentials } from './actors/credential.js';
import { Follower } from './actors/follower.js';
import { Human } from './actors/human.js';
import { Lead } from './actors/lead.js';
import type { Actor, Stage } from './actors/stage.js';
import { History } from './checks/history.js';
import { Observer } from './checks/observer.js';
import { Reached } from './checks/sometimes.js';
import { checkViews } from './checks/views.js';
import { FileFleet } from './fleet/file-fleet.js';
import { SharedFleet } from './fleet/shared-fleet.js';
import type { Fleet } from './fleet/site.js';
import { runInboxSeed } from './inbox/run.js';
import { type RunOptions, type Scenario, scenarioOf } from './scenario/scenario.js';
import { playOut, SETTLING_MS_MAX, type SeedResult, within } from './seed-result.js';
import { Network } from './world/network.js';
import { World } from './world/world.js';

export type { SeedResult } from './seed-result.js';

const WILD_MS_MAX = 12 * 3600_000;

const LIVENESS_MS_MAX = 3 * 3600_000;

/** Plays one seed to its end or to its first violation. */
export async function runSeed(options: RunOptions): Promise<SeedResult> {
  if (options.mode === 'inbox') return runInboxSeed(options);
  const { onTrace = null, ...run } = options;
  const scenario = scenarioOf(run);
  const reached = new Reached();
  const world = new World(run.seed, onTrace);
  const play = new Play(world, scenario, reached);
  const violation = await playOut(world, () => play.perform());
  return {
    run,
    topology: scenario.topology,
    commands: play.stage.commands,
    steps: world.steps,
    simulated_ms: world.now_ms,
    fingerprint: world.fingerprint(),
    violation,
    sometimes: reached.counts,
  };
}

class Play {
  readonly stage: Stage;
  private readonly followers: Follower[] = [];
  private readonly leads: Lead[] = [];

  constructor(
    private readonly world: World,
    private readonly scenario: Scenario,
    reached: Reached,
  ) {
    const projects = [{ tenant_id: 't1', project_id: 'p' }];
    if (scenario.has('second_tenant')) projects.push({ tenant_id: 't2', project_id: 'p' });
    const observer = new Observer(world, reached, scenario.limits, scenario.topology === 'file');
    const credentials = new Credentials(world);
    const setting = { world, scenario, reached, observer, projects, credentials };
    const fleet: Fleet = scenario.topology === 'file' ? new FileFleet(setting) : new SharedFleet(setting);
    const { loss_chance, double_chance, delay_chance } = scenario.rates;
    const delay_max_ms = scenario.lease_seconds * 1500;
    const network = new Network(
      world,
      { loss_chance, double_chance, delay_chance, delay_max_ms },
      world.rng.fork('network'),
    );
    const history = new History(world, observer, reached, () => fleet.incarnation);
    this.stage = { ...setting, fleet, network, history, act: 'wild', commands: 0, waiting: 0 };
  }

  async perform(): Promise<void> {
    const { stage, world, scenario } = this;
    stage.fleet.start();
    for (const actor of this.cast()) void actor.live();
    await world.run(WILD_MS_MAX, () => stage.commands >= scenario.commands);
    this.calm();
    if (scenario.mode === 'liveness') await this.workToTheEnd();
    stage.act = 'over';
    await world.run(world.now_ms + SETTLING_MS_MAX, () => stage.waiting === 0 && stage.fleet.isUp);
    if (!stage.fleet.isUp)
      world.violate('LIVE', 'the fleet did not come up again after all faults had ceased');
    await within(world, this.judge());
  }

  private cast(): Actor[] {
    const { stage, scenario } = this;
    return stage.projects.flatMap((scope, tenant) => {
      const count = tenant === 0 ? scenario.agents : 2;
      const agents = Array.from({ length: count }, (_, number) => {
        return new Agent(stage, scope, `agent-${number}`, `s${number % scenario.sessions}`);
      });
      const lead = new Lead(stage, scope, 'lead', 'lead');
      const follower = new Follower(stage, scope);
      this.leads.push(lead);
      this.followers.push(follower);
      const isLed = scenario.has('humans') || scenario.mode === 'liveness';
      return [lead, follower, ...agents, ...(isLed ? [new Human(stage, scope, 'human', 'grace')] : [])];
    });
  }

  private calm(): void {
    const { faults } = this.stage.network;
    Object.assign(faults, { loss_chance: 0, double_chance: 0, delay_chance: 0 });
    this.stage.fleet.calm();
  }

  /** L1 and L2: once nothing goes wrong any more, everything that can be done gets done. */
  private async workToTheEnd(): Promise<void> {
    const { stage, world } = this;
    stage.act = 'diligent';
    let seen = -1;
    await world.run(world.now_ms + LIVENESS_MS_MAX, () => {
      const { events_seen } = stage.observer;
      // Only what is in the log can have finished anything.
      if (events_seen === seen) return false;
      seen = events_seen;
      return this.openWork().length === 0;
    });
    const open = this.openWork();
    if (open.length > 0)
      world.violate('L1', `still not done after all faults had ceased: ${open.join(', ')}`);
  }

  private openWork(): string[] {
    if (this.leads.some((lead) => !lead.isContent)) return ['the plan itself'];
    return this.stage.projects.flatMap((scope) => {
      const { plan, heads } = this.stage.observer.watch(scope).state;
      return [...plan.subjects()].filter((subject) => heads.get(subject)?.phase !== 'COMPLETED');
    });
  }

  private async judge(): Promise<void> {
    const { stage, world } = this;
    await stage.fleet.finish();
    stage.history.finish();
    for (const follower of this.followers) follower.finish();
    for (let number = 0; number < stage.fleet.size; number += 1) {
      const site = stage.fleet.site(number);
      if (site === null) continue;
      for (const scope of stage.projects) await checkViews(world, site, stage.observer.watch(scope));
    }
  }
}
