import { unauthorizedProblem } from '../coordinator/wire/problem.js';
import { type HttpResponse, toResponse } from './response.js';
import type { RequestContext } from './route.js';

/**
 * Runs a call that waits. Its signal aborts when the client disconnects, the server stops, or the credential becomes
 * invalid. With an invalid credential the response is 401, whatever the outcome.
 */
export async function whileAuthorized(
  { context, outgoing, authorization }: Pick<RequestContext, 'context' | 'outgoing' | 'authorization'>,
  work: (ended: AbortSignal) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  outgoing.once('close', end);
  context.stopping.addEventListener('abort', end, { once: true });
  const stopWatching = authorization.onEnd(end);
  try {
    const response = await work(ending.signal);
    return authorization.isStillAuthorized() ? response : toResponse(unauthorizedProblem());
  } finally {
    outgoing.off('close', end);
    context.stopping.removeEventListener('abort', end);
    stopWatching();
  }
}
