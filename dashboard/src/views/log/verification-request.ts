import { useSyncExternalStore } from 'react';

/**
 * Whether a button outside the log view has requested a verification. The request is not part of the address, because a
 * link on another site must not be able to start a verification.
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
