import type { Io, StopSignal } from './io.js';

/** A signal that aborts on a stop signal, or when `end` is called. */
export function abortOnStop(io: Io): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const stopListening = io.onStop(() => controller.abort());
  const stopAndAbort = (): void => {
    stopListening();
    controller.abort();
  };
  return { signal: controller.signal, end: stopAndAbort };
}

/** Resolves on the first stop signal. A second signal ends the process at once. */
export function waitForStop(io: Io): Promise<StopSignal> {
  return new Promise((resolve) => {
    let isRequested = false;
    io.onStop((signal) => {
      if (isRequested) process.exit(1);
      isRequested = true;
      resolve(signal);
    });
  });
}
