import { SimOperator } from './operator.js';

/** An operator who still decides the reviews that runs wait for after the faults have ended. */
export class SimReviewer extends SimOperator {
  protected override async actDiligently(): Promise<void> {
    const decision = this.review();
    if (decision !== null) await this.call(decision);
    await super.actDiligently();
  }
}
