import { POLICY_SUBJECT } from '../../src/core/subject.js';
import { Actor } from './stage.js';

/** Lays down the policy and the plan, and does so again should they ever be lost. */
export class Lead extends Actor {
  get isContent(): boolean {
    return this.hasPolicy && this.hasPlan;
  }

  protected override thinkMs(): number {
    return this.isContent ? 60_000 : 200;
  }

  protected override async actWildly(): Promise<void> {
    const { policy, plan } = this.stage.scenario;
    if (!this.hasPolicy) await this.call(this.commands.putPolicy(policy));
    if (!this.hasPlan) await this.call(this.commands.putPlan(plan.input));
  }

  protected override actDiligently(): Promise<void> {
    return this.actWildly();
  }

  private get hasPolicy(): boolean {
    return this.watch().state.records.has(POLICY_SUBJECT);
  }

  private get hasPlan(): boolean {
    return this.watch().state.plan.has(this.stage.scenario.plan.subjects[0] ?? '');
  }
}
