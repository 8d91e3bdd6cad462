import type { ProjectKey } from '../../src/stores/store.js';
import type { CredentialRegistry } from '../actors/credential.js';
import type { CommitMonitor } from '../checks/commit-monitor.js';
import type { CoverageCounter } from '../checks/coverage.js';
import type { Scenario } from '../scenario/scenario.js';
import type { SimWorld } from '../world/world.js';

/** State shared by all parts of a run. */
export interface SimContext {
  readonly world: SimWorld;
  readonly scenario: Scenario;
  readonly monitor: CommitMonitor;
  readonly coverage: CoverageCounter;
  readonly projects: readonly ProjectKey[];
  readonly credentials: CredentialRegistry;
}

/** Repeats an action at random intervals, on average every `meanMs`, while `shouldContinue` holds. */
export function scheduleRecurring(
  { world }: Pick<SimContext, 'world'>,
  name: string,
  meanMs: number | null,
  action: () => void,
  shouldContinue: () => boolean,
): void {
  if (meanMs === null) return;
  const rng = world.rng.fork(`when ${name}`);
  const scheduleNext = (): void => {
    world.schedule(rng.exponential(meanMs), name, () => {
      if (!shouldContinue()) return;
      action();
      scheduleNext();
    });
  };
  scheduleNext();
}
