import type { Io, StopSignal } from './io.js';

/** A signal that aborts when somebody asks the command to stop, and when it ends for another reason. */
export function stopSignal(io: Io): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const stopListening = io.onStop(() => controller.abort());
  const end = (): void => {
    stopListening();
    controller.abort();
  };
  return { signal: controller.signal, end };
}

/** Resolves with the first word to stop. The second one ends the process at once: somebody means it. */
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
