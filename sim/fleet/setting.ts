import type { ProjectKey } from '../../src/stores/store.js';
import type { Credentials } from '../actors/credential.js';
import type { Observer } from '../checks/observer.js';
import type { Reached } from '../checks/sometimes.js';
import type { Scenario } from '../scenario/scenario.js';
import type { World } from '../world/world.js';

/** What every part of a run knows. */
export interface Setting {
  readonly world: World;
  readonly scenario: Scenario;
  readonly observer: Observer;
  readonly reached: Reached;
  readonly projects: readonly ProjectKey[];
  readonly credentials: Credentials;
}

/** Lets something befall the world now and then, on average every `mean_ms`, as long as it should. */
export function nowAndThen(
  { world }: Pick<Setting, 'world'>,
  name: string,
  mean_ms: number | null,
  befall: () => void,
  goesOn: () => boolean,
): void {
  if (mean_ms === null) return;
  const rng = world.rng.fork(`when ${name}`);
  const wait = (): void => {
    world.schedule(rng.exponential(mean_ms), name, () => {
      if (!goesOn()) return;
      befall();
      wait();
    });
  };
  wait();
}
