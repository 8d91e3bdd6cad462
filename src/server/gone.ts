import { noLongerAuthorized } from '../coordinator/problem.js';
import { type Answer, answer } from './answer.js';
import type { Ask } from './route.js';

/**
 * Runs a call that waits. Its signal aborts when the client is gone, the server stops, or the credential of the call stops
 * being valid. A call whose credential is no longer valid is answered 401, whatever it came to.
 */
export async function whileAuthorized(
  { house, outgoing, authorization }: Pick<Ask, 'house' | 'outgoing' | 'authorization'>,
  work: (ended: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  outgoing.once('close', end);
  house.stopping.addEventListener('abort', end, { once: true });
  const stopWatching = authorization.onEnd(end);
  try {
    const done = await work(ending.signal);
    return authorization.isStillAuthorized() ? done : answer(noLongerAuthorized());
  } finally {
    outgoing.off('close', end);
    house.stopping.removeEventListener('abort', end);
    stopWatching();
  }
}
