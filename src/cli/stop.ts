import type { Io, StopSignal } from './io.js';

/** A signal that aborts when somebody asks the command to stop, and when it ends for another reason. */
export function stopSignal(io: Io): { signal: AbortSignal; end: () => void } {
  const stopping = new AbortController();
  const stopListening = io.onStop(() => stopping.abort());
  const end = (): void => {
    stopListening();
    stopping.abort();
  };
  return { signal: stopping.signal, end };
}

/** Resolves with the first word to stop. The second one ends the process at once: somebody means it. */
export function askedToStop(io: Io): Promise<StopSignal> {
  return new Promise((resolve) => {
    let asked = false;
    io.onStop((signal) => {
      if (asked) process.exit(1);
      asked = true;
      resolve(signal);
    });
  });
}
