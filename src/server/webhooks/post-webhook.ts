import { lookup } from 'node:dns/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { isPublicAddress } from './public-address.js';

/** Which URLs may be called. URLs that the operator sets are trusted; URLs in the configuration of a project are not. */
export interface WebhookTargets {
  readonly allowsPlainHttp: boolean;
  /** Whether private and loopback addresses and every port are allowed. */
  readonly allowsPrivate: boolean;
  /** Certificates of private authorities, in PEM. */
  readonly ca?: string;
}

export const OPERATOR_TARGETS: WebhookTargets = { allowsPlainHttp: true, allowsPrivate: true };
export const PUBLIC_TARGETS: WebhookTargets = { allowsPlainHttp: false, allowsPrivate: false };
export const PUBLIC_AND_PRIVATE_TARGETS: WebhookTargets = { allowsPlainHttp: false, allowsPrivate: true };

const TIMEOUT_MS = 5_000;
const RESPONSE_BYTES_MAX = 64 * 1024;
const PUBLIC_PORTS = new Set(['', '443', '8443']);

/** Why a webhook was not delivered. The message contains nothing that the receiver has sent. */
export class WebhookError extends Error {}

export interface WebhookCall {
  readonly url: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Posts JSON to a webhook. Resolves if the status is 2xx, otherwise rejects with a `WebhookError`. Resolves the host name
 * once and connects to that address: a second resolution could lead elsewhere (DNS rebinding). Follows no redirects.
 */
export async function postWebhook(call: WebhookCall, targets: WebhookTargets): Promise<void> {
  const url = new URL(call.url);
  const fault = urlFault(url, targets);
  if (fault !== null) throw new WebhookError(fault);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const status = await withTimeout(signal, async () =>
    post(url, await resolveAddress(url, targets), call, targets, signal),
  );
  if (status < 200 || status >= 300) throw new WebhookError(`status ${status}`);
}

function urlFault({ protocol, port, username, password }: URL, targets: WebhookTargets): string | null {
  if (protocol !== 'https:' && !(protocol === 'http:' && targets.allowsPlainHttp))
    return 'the URL is not https';
  if (username !== '' || password !== '') return 'the URL contains a user name or a password';
  if (!targets.allowsPrivate && !PUBLIC_PORTS.has(port)) return `port ${port} is not allowed`;
  return null;
}

/** Every address of the name must be allowed, so that the result does not depend on their order. */
async function resolveAddress({ hostname }: URL, { allowsPrivate }: WebhookTargets): Promise<string> {
  const name = hostname.replace(/^\[|\]$/g, '');
  const addresses =
    isIP(name) === 0 ? (await lookup(name, { all: true })).map(({ address }) => address) : [name];
  const [first] = addresses;
  if (first === undefined) throw new WebhookError('the host has no address');
  if (!allowsPrivate && !addresses.every(isPublicAddress))
    throw new WebhookError('the address of the host is not public');
  return first;
}

/** Rejects after the timeout. A lookup cannot be cancelled, so its result is then ignored. */
function withTimeout<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new WebhookError('timeout')), { once: true });
    work().then(resolve, (error: NodeJS.ErrnoException) =>
      reject(error instanceof WebhookError ? error : new WebhookError(error.code ?? 'connection failed')),
    );
  });
}

/** Resolves to the status of the response. */
function post(
  url: URL,
  address: string,
  { body, headers = {} }: WebhookCall,
  { ca }: WebhookTargets,
  signal: AbortSignal,
): Promise<number> {
  const isSecure = url.protocol === 'https:';
  const name = url.hostname.replace(/^\[|\]$/g, '');
  const options = {
    host: address,
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    method: 'POST',
    headers: {
      host: url.host,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'genesis-fleet',
      ...headers,
    },
    agent: false,
    signal,
    ...(ca === undefined ? {} : { ca }),
    // The certificate must be for the name, not for the address.
    ...(isIP(name) === 0 ? { servername: name } : {}),
  };
  return new Promise((resolve, reject) => {
    const request = (isSecure ? requestHttps : requestHttp)(options, (response) => {
      drain(response).then(() => resolve(response.statusCode ?? 0), reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Reads the response to its end, so that the receiver can finish it, up to a limit. */
async function drain(response: IncomingMessage): Promise<void> {
  let readBytes = 0;
  for await (const chunk of response) {
    readBytes += (chunk as Buffer).byteLength;
    if (readBytes > RESPONSE_BYTES_MAX) break;
  }
}
