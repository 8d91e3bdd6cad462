import type { Caller } from '../../src/coordinator/index.js';
import type { Unit } from '../../src/stores/store.js';
import type { Process } from '../world/process.js';
import type { World } from '../world/world.js';

/** How long a coordinator takes to follow the store to a revocation by another, and to end what waits. */
const FOLLOW_MS_MAX = 3000;
const END_MS_MAX = 2000;

/** What one actor authenticates with. A revocation takes effect at each coordinator in its own time. */
export class Credential {
  private isRevoked = false;
  /** Coordinators that have not followed the store to the revocation yet. */
  private readonly unaware = new Set<Process>();
  private readonly waiting = new Map<Process, Set<AbortController>>();

  constructor(private readonly caller: Caller) {}

  /** A coordinator that was started after the revocation has read it. */
  isValidAt(coordinator: Process): boolean {
    return !this.isRevoked || this.unaware.has(coordinator);
  }

  callerAt(coordinator: Process): Caller {
    return { ...this.caller, isStillAuthorized: () => this.isValidAt(coordinator) };
  }

  /** The signal that ends a call which waits at a coordinator, as the server gives it. */
  signalAt(coordinator: Process): AbortSignal {
    const ending = new AbortController();
    const waiting = this.waiting.get(coordinator) ?? new Set();
    this.waiting.set(coordinator, waiting.add(ending));
    return ending.signal;
  }

  /**
   * Takes effect at the first coordinator at once, at the others when they follow. The signal comes later still: what
   * keeps a revoked caller from being granted work must not be the signal.
   */
  revoke(coordinators: readonly Process[], delayMs: (max_ms: number) => number): void {
    this.isRevoked = true;
    for (const [at, coordinator] of coordinators.entries()) {
      const takeEffect = (): void => {
        this.unaware.delete(coordinator);
        coordinator.after(delayMs(END_MS_MAX), 'ends what waits', () => {
          for (const ending of this.waiting.get(coordinator) ?? []) ending.abort();
        });
      };
      if (at === 0) takeEffect();
      else {
        this.unaware.add(coordinator);
        coordinator.after(delayMs(FOLLOW_MS_MAX), 'follows to a revocation', takeEffect);
      }
    }
  }
}

/** Which request was made with which credential, so that every commit can be held to it. */
export class Credentials {
  private readonly ofRequests = new Map<string, Credential>();

  constructor(private readonly world: World) {}

  use(request_ids: readonly string[], credential: Credential): void {
    for (const id of request_ids) this.ofRequests.set(id, credential);
  }

  /** A coordinator sends this to its store: nothing in it may come from a caller whose revocation took effect there. */
  checkCommit(coordinator: Process, units: readonly Unit[]): void {
    for (const { swaps, notes } of units) {
      for (const { request_id, event_type, subject } of [
        ...swaps.flatMap(({ events }) => events),
        ...notes,
      ]) {
        const credential = request_id === undefined ? undefined : this.ofRequests.get(request_id);
        if (credential?.isValidAt(coordinator) ?? true) continue;
        this.world.violate(
          'AUTH',
          `${coordinator.name} decided ${event_type} of ${subject} for ${request_id} after its credential was revoked`,
        );
      }
    }
  }
}
