import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly body: string;
  /** The name of the server that the client sent in the TLS handshake. */
  readonly server_name: string | false | null | undefined;
}

interface WebhookReceiver {
  readonly url: string;
  readonly port: number;
  /** The self-signed certificate of the receiver. */
  readonly ca: string;
  readonly received: ReceivedWebhook[];
  /** Resolves when this many have been received in all. */
  untilReceived(count: number): Promise<void>;
}

type Respond = (response: ServerResponse, request: IncomingMessage) => void;

/** An https server for `localhost` that records the webhooks that it receives. */
export async function openReceiver(
  respond: Respond = (response) => void response.writeHead(204).end(),
): Promise<WebhookReceiver> {
  const { cert, key } = await newCertificate();
  const received: ReceivedWebhook[] = [];
  let notify = (): void => {};
  const server = createServer({ cert, key }, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { servername } = request.socket as TLSSocket & { servername?: string | false | null };
    received.push({ headers: request.headers, path: request.url ?? '', body, server_name: servername });
    respond(response, request);
    notify();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://localhost:${port}/hook`,
    port,
    ca: cert,
    received,
    untilReceived: async (count) => {
      while (received.length < count)
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
    },
  };
}

async function newCertificate(): Promise<{ cert: string; key: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'webhook-tls-'));
  try {
    const line =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost -days 2 -addext subjectAltName=DNS:localhost';
    execFileSync('openssl', line.split(' '), { cwd: folder, stdio: 'pipe' });
    const [cert, key] = await Promise.all(
      ['cert.pem', 'key.pem'].map((name) => readFile(join(folder, name), 'utf8')),
    );
    return { cert: cert ?? '', key: key ?? '' };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
