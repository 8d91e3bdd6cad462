import type { IncomingHttpHeaders } from 'node:http';
import { type HttpResponse, problemResponse } from './response.js';

/** Names under which a machine knows only itself. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

/** Where a browser may come from: the server's own page, or a person who typed the address. */
const ALLOWED_FETCH_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

/**
 * An open server believes every caller, so no page of another site may send a browser to it: neither by a form or
 * script, nor by a name that points at this machine, nor by a link, an image or another request without `Origin`.
 * `Sec-Fetch-Site: same-site` is refused too: another port of this machine is another program.
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
