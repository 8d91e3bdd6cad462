import type { KeyRing } from '../../coordinator/index.js';
import type { Principal } from './principal.js';

/** Node timers wait at most about 24 days; later expiries are checked again after this interval. */
const TIMER_MS_MAX = 24 * 3600 * 1000;

interface CredentialValidity {
  isValid(principal: Principal): boolean;
  /** Null if the credential never expires. */
  expiresInMs(principal: Principal): number | null;
}

/** Calls `onInvalid` once. Returns a function that stops watching. */
type WatchCredential = (principal: Principal, onInvalid: () => void) => () => void;

/**
 * Detects credentials that become invalid, by two triggers: the key ring changed (a key was revoked, or the first key
 * was created, which ends open mode), or the credential expires.
 */
export function createCredentialWatch(
  keys: Pick<KeyRing, 'onChange'>,
  validity: CredentialValidity,
): WatchCredential {
  /** One check per watched credential. If the credential is no longer valid, the check ends the watch and calls `onInvalid`. */
  const checks = new Set<() => void>();
  keys.onChange(() => {
    for (const check of [...checks]) check();
  });
  return (principal, onInvalid) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      checks.delete(check);
    };
    const check = (): void => {
      if (validity.isValid(principal)) return;
      stop();
      onInvalid();
    };
    const scheduleExpiry = (): void => {
      const leftMs = validity.expiresInMs(principal);
      if (leftMs === null) return;
      timer = setTimeout(onExpiry, Math.min(Math.max(leftMs, 1), TIMER_MS_MAX)).unref();
    };
    const onExpiry = (): void => {
      check();
      // The store's clock can be behind the local timer.
      if (checks.has(check)) scheduleExpiry();
    };
    checks.add(check);
    scheduleExpiry();
    return stop;
  };
}
