import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** By far the longest goes first, and gives way to all others: it fills the time in which they only wait. */
export class SimulatorFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSimulator = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith('/sim/sim.test.ts');
    const sorted = await super.sort(files);
    return [...sorted.filter(isSimulator), ...sorted.filter((file) => !isSimulator(file))];
  }
}
