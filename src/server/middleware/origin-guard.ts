import type { Authenticator } from '../auth/authenticator.js';
import type { RequestConnection } from '../connection.js';
import { isLoopback } from '../loopback.js';
import { type HttpResponse, problemResponse } from '../response.js';

/** Allowed `Sec-Fetch-Site` values: the server's own page, or an address typed by a person. */
const ALLOWED_FETCH_SITES: ReadonlySet<string | null> = new Set([null, 'same-origin', 'none']);

/**
 * An open server trusts every caller, so it refuses browser requests from other sites: forms and scripts, DNS names
 * that point to loopback, links, images and other requests without `Origin`. `same-site` is refused too, because
 * another port of this machine is another program.
 */
export function guardOrigin(
  connection: RequestConnection,
  authenticator: Pick<Authenticator, 'isInOpenMode'>,
): HttpResponse | null {
  return authenticator.isInOpenMode && !isOwnOrigin(connection) ? FOREIGN : null;
}

const FOREIGN = problemResponse(
  'FORBIDDEN',
  'Without keys, this server accepts only requests from its own machine, and none from pages of other sites. Call it as localhost, open its address directly in the browser, or create a key: gen key create.',
);

function isOwnOrigin(connection: RequestConnection): boolean {
  const host = connection.header('host') ?? '';
  const origin = connection.header('origin');
  return (
    isLoopback(host.replace(/:\d+$/, '')) &&
    (origin === null || origin === `http://${host}`) &&
    ALLOWED_FETCH_SITES.has(connection.header('sec-fetch-site'))
  );
}
