import { setMaxListeners } from 'node:events';

/** A signal that any number of calls may listen to at once: without this Node warns of a leak from the eleventh on. */
export function sharedSignal<T extends AbortSignal | undefined>(signal: T): T {
  if (signal !== undefined) setMaxListeners(0, signal);
  return signal;
}
