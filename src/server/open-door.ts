import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, problemAnswer } from './answer.js';

/** Names under which a machine knows only itself. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

/**
 * An open server believes whoever comes, so nobody may be sent there by a page of another site: neither by a form or
 * script that posts to it, nor by a name that was made to point at this machine.
 */
export function strangerRefused(headers: IncomingHttpHeaders): Answer | null {
  const { host = '', origin } = headers;
  const isOurs =
    isLoopback(host.replace(/:\d+$/, '')) && (origin === undefined || origin === `http://${host}`);
  if (isOurs) return null;
  return problemAnswer(
    'FORBIDDEN',
    'This server is open to its own machine alone. Call it as localhost, or create a key: gen key create.',
  );
}
