import { METHODOLOGY_SUBJECT, POLICY_SUBJECT } from '../../src/core/subject.js';
import { EDGE_FILES } from '../runs/edges.js';
import { SimActor } from './sim-actor.js';

/** Sets the policy and the plan, and sets them again if they are lost. */
export class SimProjectSetup extends SimActor {
  get isSetUp(): boolean {
    return this.hasPolicy && this.hasPlan;
  }

  protected override thinkMs(): number {
    return this.isSetUp ? 60_000 : 200;
  }

  protected override async actRandomly(): Promise<void> {
    const { policy, plan } = this.context.scenario;
    if (!this.hasPolicy) await this.call(this.commands.putPolicy(policy));
    if (!this.hasPlan) await this.call(this.commands.putPlan(plan.input));
  }

  protected override actDiligently(): Promise<void> {
    return this.actRandomly();
  }

  protected get hasPolicy(): boolean {
    return this.projectMonitor().state.records.has(POLICY_SUBJECT);
  }

  private get hasPlan(): boolean {
    return this.projectMonitor().state.plan.has(this.context.scenario.plan.subjects[0] ?? '');
  }
}

/** Sets the policy and the configuration of a project with edges. */
export class EdgeProjectSetup extends SimProjectSetup {
  override get isSetUp(): boolean {
    return this.hasPolicy && this.hasEdges;
  }

  protected override async actRandomly(): Promise<void> {
    const { policy } = this.context.scenario;
    if (!this.hasPolicy) await this.call(this.commands.putPolicy(policy));
    if (!this.hasEdges) await this.call(this.commands.configure(EDGE_FILES));
  }

  private get hasEdges(): boolean {
    return this.projectMonitor().state.records.has(METHODOLOGY_SUBJECT);
  }
}
