import type { IncomingHttpHeaders } from 'node:http';
import { type HttpResponse, problemResponse } from './response.js';

/** Whether the host name is a loopback name. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

/** Allowed `Sec-Fetch-Site` values: the server's own page, or an address typed by a person. */
const ALLOWED_FETCH_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

/**
 * An open server trusts every caller, so it refuses browser requests from other sites: forms and scripts, DNS names
 * that point to loopback, links, images and other requests without `Origin`. `same-site` is refused too, because
 * another port of this machine is another program.
 */
export function originGuard(headers: IncomingHttpHeaders): HttpResponse | null {
  const { host = '', origin } = headers;
  const isOwnOrigin =
    isLoopback(host.replace(/:\d+$/, '')) &&
    (origin === undefined || origin === `http://${host}`) &&
    ALLOWED_FETCH_SITES.has(headers['sec-fetch-site'] as string | undefined);
  if (isOwnOrigin) return null;
  return problemResponse(
    'FORBIDDEN',
    'This server is open to its own machine alone, and to no page of another site. Call it as localhost, type its address into the browser, or create a key: gen key create.',
  );
}
