import type { KeyRing } from '../../coordinator/index.js';
import type { Principal } from './principal.js';

/** Node timers wait at most about 24 days; later expiries are checked again after this interval. */
const TIMER_MS_MAX = 24 * 3600 * 1000;

interface CredentialValidity {
  isValid(principal: Principal): boolean;
  /** Null if the credential never expires. */
  expiresInMs(principal: Principal): number | null;
}

/**
 * Detects credentials that become invalid, by two triggers: the key ring changed (a key was revoked, or the first key
 * closed an open server), or the credential expires.
 */
export class CredentialWatch {
  /** Each ends its watch and notifies the watcher if the credential is no longer valid. */
  private readonly checks = new Set<() => void>();

  constructor(
    keys: Pick<KeyRing, 'onChange'>,
    private readonly validity: CredentialValidity,
  ) {
    keys.onChange(() => {
      for (const check of [...this.checks]) check();
    });
  }

  /** Calls `onInvalid` once. Returns a function that stops watching. */
  watch(principal: Principal, onInvalid: () => void): () => void {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      this.checks.delete(check);
    };
    const scheduleExpiry = (): void => {
      const leftMs = this.validity.expiresInMs(principal);
      if (leftMs === null) return;
      timer = setTimeout(onExpiry, Math.min(Math.max(leftMs, 1), TIMER_MS_MAX)).unref();
    };
    const check = (): void => {
      if (this.validity.isValid(principal)) return;
      stop();
      onInvalid();
    };
    const onExpiry = (): void => {
      check();
      // The store's clock can be behind the local timer.
      if (this.checks.has(check)) scheduleExpiry();
    };
    this.checks.add(check);
    scheduleExpiry();
    return stop;
  }
}
