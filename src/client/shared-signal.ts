import { setMaxListeners } from 'node:events';

/** Removes the listener limit of a signal that many calls share: Node warns of a leak from the eleventh listener on. */
export function sharedSignal<T extends AbortSignal | undefined>(signal: T): T {
  if (signal !== undefined) setMaxListeners(0, signal);
  return signal;
}
