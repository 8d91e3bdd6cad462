import { isProblem } from '../../src/coordinator/index.js';
import type { Command } from './commands.js';
import { Actor } from './stage.js';

/** Lays down the policy and the plan, and does not rest before both stand. */
export class Lead extends Actor {
  isDone = false;

  protected override thinkMs(): number {
    return 500;
  }

  protected override async actWildly(): Promise<void> {
    if (this.isDone) return this.process.sleep(60_000, 'is content');
    await this.insist(() => this.commands.putPolicy(this.stage.scenario.policy));
    await this.insist(() => this.commands.putPlan(this.stage.scenario.plan.input));
    this.isDone = true;
  }

  protected override actDiligently(): Promise<void> {
    return this.actWildly();
  }

  private async insist(make: () => Command): Promise<void> {
    while (this.stage.act !== 'over') {
      const answer = await this.call(make());
      if (answer.kind === 'reply' && !isProblem(answer.reply)) return;
    }
  }
}
