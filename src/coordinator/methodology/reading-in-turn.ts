import type { MethodologyReading } from '../../core/graph/methodology.js';
import { methodologySteps } from '../../core/graph/read-methodology.js';
import type { Environment } from '../environment.js';

/**
 * Reads what the files of projects say. Long files take long: everybody else is served between any two of them, and the
 * files of one project are read at a time, so that those of many do not fill the memory together.
 */
export class ReadingInTurn {
  private before: Promise<unknown> = Promise.resolve();

  constructor(private readonly environment: Pick<Environment, 'breathe'>) {}

  read(files: ReadonlyMap<string, string>): Promise<MethodologyReading> {
    const reading = this.before.then(() => this.readNow(files));
    this.before = reading.catch(() => {});
    return reading;
  }

  private async readNow(files: ReadonlyMap<string, string>): Promise<MethodologyReading> {
    const steps = methodologySteps(files);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await this.environment.breathe();
    }
  }
}
