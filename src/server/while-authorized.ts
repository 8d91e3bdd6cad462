import { unauthorizedProblem } from '../coordinator/wire/problem.js';
import { type HttpResponse, toResponse } from './response.js';
import type { ApiCall } from './route.js';

/**
 * Runs a call that waits. Its signal aborts when the client disconnects, the server stops, or the credential becomes
 * invalid. With an invalid credential the response is 401, whatever the outcome.
 */
export async function whileAuthorized(
  { context, connection, authorization }: Pick<ApiCall, 'context' | 'connection' | 'authorization'>,
  work: (endSignal: AbortSignal) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const endController = new AbortController();
  const end = (): void => endController.abort();
  const stopListening = connection.onClose(end);
  context.stopping.addEventListener('abort', end, { once: true });
  const stopWatching = authorization.onEnd(end);
  try {
    const response = await work(endController.signal);
    return authorization.isStillAuthorized() ? response : toResponse(unauthorizedProblem());
  } finally {
    stopListening();
    context.stopping.removeEventListener('abort', end);
    stopWatching();
  }
}
