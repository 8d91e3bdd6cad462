import type { Caller } from '../../src/coordinator/index.js';
import type { Transaction } from '../../src/stores/store.js';
import type { SimProcess } from '../world/process.js';
import type { SimWorld } from '../world/world.js';

/** Longest time until a coordinator sees a revocation that was made at another coordinator. */
const PROPAGATION_MS_MAX = 3000;
/** Longest time from when a coordinator sees a revocation until it ends the calls that wait there. */
const ABORT_DELAY_MS_MAX = 2000;

/** A credential of one actor. A revocation may take effect at each coordinator at a different time. */
export class SimCredential {
  private isRevoked = false;
  /** Coordinators that have not yet seen the revocation in the store. */
  private readonly staleCoordinators = new Set<SimProcess>();
  private readonly waitingCalls = new Map<SimProcess, Set<AbortController>>();

  constructor(private readonly caller: Caller) {}

  /** Whether this coordinator accepts the credential. One that started after a revocation has read it, and so refuses. */
  isValidAt(coordinator: SimProcess): boolean {
    return !this.isRevoked || this.staleCoordinators.has(coordinator);
  }

  callerAt(coordinator: SimProcess): Caller {
    return { ...this.caller, isStillAuthorized: () => this.isValidAt(coordinator) };
  }

  /** The signal that ends a call waiting at a coordinator, as the server provides it. */
  signalAt(coordinator: SimProcess): AbortSignal {
    const controller = new AbortController();
    const controllers = this.waitingCalls.get(coordinator) ?? new Set();
    this.waitingCalls.set(coordinator, controllers.add(controller));
    return controller.signal;
  }

  /**
   * Revokes the credential at the first coordinator at once, and at the others when they read the revocation. The abort
   * signal comes later, because a revoked caller must be denied work even without the signal.
   */
  revoke(coordinators: readonly SimProcess[], delayMs: (maxMs: number) => number): void {
    this.isRevoked = true;
    for (const [index, coordinator] of coordinators.entries()) {
      const takeEffect = (): void => {
        this.staleCoordinators.delete(coordinator);
        coordinator.runAfter(delayMs(ABORT_DELAY_MS_MAX), 'ends the calls that wait', () => {
          for (const controller of this.waitingCalls.get(coordinator) ?? []) controller.abort();
        });
      };
      if (index === 0) takeEffect();
      else {
        this.staleCoordinators.add(coordinator);
        coordinator.runAfter(delayMs(PROPAGATION_MS_MAX), 'reads a revocation', takeEffect);
      }
    }
  }
}

/** Maps each request to its credential, so that every commit can be checked. */
export class CredentialRegistry {
  private readonly credentialsByRequest = new Map<string, SimCredential>();

  constructor(private readonly world: SimWorld) {}

  register(requestIds: readonly string[], credential: SimCredential): void {
    for (const id of requestIds) this.credentialsByRequest.set(id, credential);
  }

  /** Checks a commit that a coordinator sends: no event may come from a caller whose revocation took effect there. */
  checkCommit(coordinator: SimProcess, transactions: readonly Transaction[]): void {
    for (const { swaps, loose_events: looseEvents } of transactions) {
      for (const { request_id, event_type, subject } of [
        ...swaps.flatMap(({ events }) => events),
        ...looseEvents,
      ]) {
        const credential = request_id === undefined ? undefined : this.credentialsByRequest.get(request_id);
        if (credential?.isValidAt(coordinator) ?? true) continue;
        this.world.reportViolation(
          'AUTH',
          `${coordinator.name} commits ${event_type} of ${subject} for ${request_id}, whose credential it saw revoked`,
        );
      }
    }
  }
}
