import type { Authenticator } from '../auth/authenticator.js';
import type { RequestConnection } from '../connection.js';
import { isLoopback } from '../loopback.js';
import { type HttpResponse, problemResponse } from '../response.js';
import type { Route } from '../route.js';

/** Allowed `Sec-Fetch-Site` values: of the server's own page, or of an address typed by a person; null without a browser. */
const ALLOWED_FETCH_SITES: ReadonlySet<string | null> = new Set([null, 'same-origin', 'none']);
/** Web pages without data: a link in a chat or a mail may open them. */
const LINKABLE_ROUTES: ReadonlySet<string> = new Set(['page', 'docs']);

/**
 * In open mode the server trusts every caller, so it refuses browser requests from other sites: forms and scripts, DNS
 * names that point to loopback, images and other requests without `Origin`. It refuses `same-site` too, because another
 * port of this machine is another program. It accepts a link to one of its pages.
 */
export function guardOrigin(
  connection: RequestConnection,
  authenticator: Pick<Authenticator, 'isInOpenMode'>,
  route: Route | null,
): HttpResponse | null {
  return authenticator.isInOpenMode && !isOwnOrigin(connection, route) ? FOREIGN_ORIGIN_RESPONSE : null;
}

const FOREIGN_ORIGIN_RESPONSE = problemResponse(
  'FORBIDDEN',
  'Without keys, this server accepts only requests from its own machine, and none from pages of other sites. Call it as localhost, open its address directly in the browser, or create a key: gen key create.',
);

function isOwnOrigin(connection: RequestConnection, route: Route | null): boolean {
  const host = connection.header('host') ?? '';
  const origin = connection.header('origin');
  return (
    isLoopbackHost(host) &&
    (origin === null || origin === `http://${host}`) &&
    (ALLOWED_FETCH_SITES.has(connection.header('sec-fetch-site')) || isLinkToPage(connection, route))
  );
}

/** The last host and whether it is loopback: nearly all requests of a server in open mode name the same one. */
let lastHost = { host: '', isLoopback: false };

function isLoopbackHost(host: string): boolean {
  if (host !== lastHost.host) lastHost = { host, isLoopback: isLoopback(host.replace(/:\d+$/, '')) };
  return lastHost.isLoopback;
}

/** Whether a person follows a link in a window, not in a frame. */
const isLinkToPage = (connection: RequestConnection, route: Route | null): boolean =>
  route !== null &&
  LINKABLE_ROUTES.has(route.id) &&
  connection.header('sec-fetch-mode') === 'navigate' &&
  connection.header('sec-fetch-dest') === 'document';
