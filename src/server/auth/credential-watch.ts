import type { KeyRing } from '../../coordinator/index.js';
import type { Principal } from './principal.js';

/** The longest time that a timer of Node can wait is about 24 days; a later expiry is checked again after this. */
const TIMER_MS_MAX = 24 * 3600 * 1000;

export interface CredentialValidity {
  isValid(principal: Principal): boolean;
  /** Null: the credential never expires. */
  expiresInMs(principal: Principal): number | null;
}

interface CredentialSubscription {
  /** Ends the watch and tells the watcher if the credential is no longer valid. */
  check(): void;
}

/**
 * Finds out that a credential stopped being valid. There are two causes, so there are two triggers: the key ring changed
 * (a key was revoked, or the first key closed an open server), or the time of expiry has come.
 */
export class CredentialWatch {
  private readonly subscriptions = new Set<CredentialSubscription>();

  constructor(
    keys: Pick<KeyRing, 'onChange'>,
    private readonly validity: CredentialValidity,
  ) {
    keys.onChange(() => {
      for (const one of [...this.subscriptions]) one.check();
    });
  }

  /** Calls `onInvalid` once. Returns a function that stops watching. */
  watch(principal: Principal, onInvalid: () => void): () => void {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      this.subscriptions.delete(subscription);
    };
    const scheduleExpiry = (): void => {
      const leftMs = this.validity.expiresInMs(principal);
      if (leftMs === null) return;
      timer = setTimeout(onExpiry, Math.min(Math.max(leftMs, 1), TIMER_MS_MAX)).unref();
    };
    const subscription: CredentialSubscription = {
      check: () => {
        if (this.validity.isValid(principal)) return;
        stop();
        onInvalid();
      },
    };
    const onExpiry = (): void => {
      subscription.check();
      // The store's clock can be behind this machine's timer.
      if (this.subscriptions.has(subscription)) scheduleExpiry();
    };
    this.subscriptions.add(subscription);
    scheduleExpiry();
    return stop;
  }
}
