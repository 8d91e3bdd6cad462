import type { Caller } from '../../src/coordinator/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import type { ProjectMonitor } from '../checks/project-monitor.js';
import type { SimContext } from '../fleet/sim-context.js';
import { SimProcess } from '../world/process.js';
import type { Rng } from '../world/rng.js';
import { type CallOutcome, isRevoked, SimClient, type SimClientContext } from './client.js';
import { CommandFactory, type SimCommand } from './commands.js';

/** State shared by all actors of a run. */
export interface ActorContext extends SimContext, SimClientContext {
  /** `random`: any action. `completing`: all actors work to complete the plan. `stopped`: no new commands. */
  phase: 'random' | 'completing' | 'stopped';
  commands: number;
  /** Calls that still wait for their reply. */
  pendingCalls: number;
}

export const callerOf = ({ tenant_id }: ProjectKey, name: string, user_id: string | null): Caller => ({
  principal: `${tenant_id}-${name}`,
  user_id,
  client_ip: null,
  agent_role: null,
  claim_id_optional: false,
  may_work: true,
  may_review: false,
  may_administer: false,
});

/** Base class of all actors except the executors: a process, a client and a random stream. */
export abstract class SimActor {
  protected readonly process: SimProcess;
  protected readonly commands: CommandFactory;
  protected readonly rng: Rng;
  private readonly client: SimClient;

  constructor(
    protected readonly context: ActorContext,
    protected readonly projectKey: ProjectKey,
    name: string,
    user_id: string | null,
  ) {
    this.rng = context.world.rng.fork(`${projectKey.tenant_id} ${name}`);
    this.process = new SimProcess(context.world, `${projectKey.tenant_id}/${name}`, this.rng.fork('process'));
    this.client = new SimClient(this.process, context, this.rng.fork('client'));
    const caller = { ...callerOf(projectKey, name, user_id), may_review: this.mayReview() };
    this.commands = new CommandFactory(projectKey, name, caller, context.credentials);
  }

  async run(): Promise<void> {
    while (this.context.phase !== 'stopped') {
      await this.process.sleep(this.rng.exponential(this.thinkMs()), 'thinks');
      if (this.context.phase === 'random') await this.actRandomly();
      else if (this.context.phase === 'completing') await this.actDiligently();
    }
  }

  /** Whether the credential of the actor may decide reviews. */
  protected mayReview(): boolean {
    return false;
  }

  protected abstract thinkMs(): number;
  protected abstract actRandomly(): Promise<void>;
  protected abstract actDiligently(): Promise<void>;

  protected projectMonitor(): ProjectMonitor {
    return this.context.monitor.projectMonitor(this.projectKey);
  }

  protected async call(command: SimCommand): Promise<CallOutcome> {
    this.context.commands += 1;
    this.context.pendingCalls += 1;
    const outcome = await this.client.call(command);
    this.context.pendingCalls -= 1;
    const isCurrent = command.credential === this.commands.currentCredential;
    if (isCurrent && outcome.kind === 'reply' && isRevoked(outcome.reply)) this.commands.replaceCredential();
    return outcome;
  }
}
