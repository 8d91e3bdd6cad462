import type { ProjectKey } from '../../src/stores/store.js';
import type { ProjectWatch } from '../checks/project-watch.js';
import type { Setting } from '../fleet/setting.js';
import { Process } from '../world/process.js';
import type { Rng } from '../world/rng.js';
import { type Answer, Client, type ClientWorld, isRevoked } from './client.js';
import { type Command, Commands } from './commands.js';

/** What all actors share: the world they act in, and when it is over. */
export interface Stage extends Setting, ClientWorld {
  /** `wild`: anything goes. `diligent`: everybody works to get the plan done. `over`: no new commands. */
  act: 'wild' | 'diligent' | 'over';
  commands: number;
  /** Calls that still wait for their answer. */
  waiting: number;
}

/** Somebody who sends commands: a process, a client, and a stream of chance. */
export abstract class Actor {
  protected readonly process: Process;
  protected readonly commands: Commands;
  protected readonly rng: Rng;
  private readonly client: Client;

  constructor(
    protected readonly stage: Stage,
    protected readonly scope: ProjectKey,
    name: string,
    user_id: string | null,
  ) {
    this.rng = stage.world.rng.fork(`${scope.tenant_id} ${name}`);
    this.process = new Process(stage.world, `${scope.tenant_id}/${name}`, this.rng.fork('process'));
    this.client = new Client(this.process, stage, this.rng.fork('client'));
    const principal = `${scope.tenant_id}-${name}`;
    const caller = {
      principal,
      user_id,
      client_ip: null,
      claim_id_optional: false,
      may_work: true,
      may_review: false,
      may_administer: false,
    };
    this.commands = new Commands(scope, name, caller, stage.credentials);
  }

  async live(): Promise<void> {
    while (this.stage.act !== 'over') {
      await this.process.sleep(this.rng.exponential(this.thinkMs()), 'thinks');
      if (this.stage.act === 'wild') await this.actWildly();
      else if (this.stage.act === 'diligent') await this.actDiligently();
    }
  }

  protected abstract thinkMs(): number;
  protected abstract actWildly(): Promise<void>;
  protected abstract actDiligently(): Promise<void>;

  protected watch(): ProjectWatch {
    return this.stage.observer.watch(this.scope);
  }

  protected async call(command: Command): Promise<Answer> {
    this.stage.commands += 1;
    this.stage.waiting += 1;
    const answer = await this.client.call(command);
    this.stage.waiting -= 1;
    const isCurrent = command.credential === this.commands.currentCredential;
    if (isCurrent && answer.kind === 'reply' && isRevoked(answer.reply)) this.commands.authenticateAgain();
    return answer;
  }
}
