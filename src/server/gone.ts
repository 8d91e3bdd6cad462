import type { Ask } from './route.js';

/** Does what waits, with a signal that ends the waiting when nobody is there for the answer or the server stops. */
export async function whileAsked<T>(
  { house, outgoing }: Pick<Ask, 'house' | 'outgoing'>,
  work: (gone: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  outgoing.once('close', leave);
  house.stopping.addEventListener('abort', leave, { once: true });
  try {
    return await work(gone.signal);
  } finally {
    outgoing.off('close', leave);
    house.stopping.removeEventListener('abort', leave);
  }
}
