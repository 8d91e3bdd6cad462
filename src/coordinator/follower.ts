import type { Environment } from './environment.js';
import type { Projects } from './projects.js';

const POLL_MS = 250;

/**
 * Where several coordinators share a store, each reads what the others commit, so that those who wait or listen
 * here hear of it. No decision rests on it: a commit that was decided on an old view is refused by the store.
 */
export class Follower {
  private cancel: () => void = () => {};
  private stopped = false;

  constructor(
    private readonly projects: Projects,
    private readonly environment: Environment,
  ) {
    this.tick();
  }

  stop(): void {
    this.stopped = true;
    this.cancel();
  }

  private tick(): void {
    if (this.stopped) return;
    this.cancel = this.environment.setTimer(POLL_MS, () => {
      // A store that cannot be reached now is asked again at the next tick.
      void Promise.allSettled([...this.projects.all()].map((project) => project.follow())).then(() =>
        this.tick(),
      );
    });
  }
}
