import { useSyncExternalStore } from 'react';

/**
 * Whether a button outside the log view has asked for a verification. It is not part of the address: a link on another
 * site must not start one.
 */
let isRequested = false;
const listeners = new Set<() => void>();

function setRequested(value: boolean): void {
  isRequested = value;
  for (const listener of listeners) listener();
}

/** The log view starts a verification, now or when it opens. */
export const requestVerification = (): void => setRequested(true);
export const clearVerificationRequest = (): void => setRequested(false);

export const useVerificationRequest = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isRequested,
  );
