import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Rng } from '../world/rng.js';

/** Faults that a connection may suffer after some traffic. */
export const CONNECTION_FAULTS = ['drop', 'delay', 'half_open', 'reset_after_send'] as const;
export type ConnectionFault = (typeof CONNECTION_FAULTS)[number];

const HOST = '127.0.0.1';
/** Mean number of chunks before a fault. */
const CHUNKS_BEFORE_FAULT_MEAN = 60;
const DELAY_MS_MAX = 300;
/** How long a connection that no longer delivers data stays open. */
const SILENT_CONNECTION_MS = 3000;

/**
 * A TCP proxy that breaks connections as a network does: data is dropped from some moment on, delayed or passed one way
 * only, or the connection is reset after the request has arrived and before the reply does.
 */
export class TcpProxy {
  readonly counts: Record<ConnectionFault, number> = { drop: 0, delay: 0, half_open: 0, reset_after_send: 0 };
  /** While true, all data passes unchanged. */
  isTransparent = true;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly target: { host: string; port: number },
    private readonly rng: Rng,
  ) {
    this.server = createServer((client) => this.connectThrough(client));
  }

  static async start(target: { host: string; port: number }, rng: Rng): Promise<TcpProxy> {
    const proxy = new TcpProxy(target, rng);
    await new Promise<void>((resolve, reject) => {
      proxy.server.once('error', reject);
      proxy.server.listen({ host: HOST, port: 0 }, resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Cuts every connection. Delayed data never arrives. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private connectThrough(client: Socket): void {
    const upstream = connect(this.target);
    const connection = new ProxiedConnection(client, upstream, this.rng, (fault) => {
      this.counts[fault] += 1;
    });
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.sockets.delete(socket);
        connection.cut();
      });
    }
    client.on('data', (data) => connection.toServer(data, this.isTransparent));
    upstream.on('data', (data) => connection.toClient(data));
    client.on('end', () => upstream.end());
    upstream.on('end', () => client.end());
  }
}

/** One proxied connection, with the fault that it suffers. */
class ProxiedConnection {
  private chunksLeft: number;
  private fault: ConnectionFault | null = null;
  /** Resolves when the last delayed chunk has been delivered: chunks keep their order. */
  private lastDelivery: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: Socket,
    private readonly upstream: Socket,
    private readonly rng: Rng,
    private readonly onFault: (fault: ConnectionFault) => void,
  ) {
    this.chunksLeft = Math.ceil(rng.exponential(CHUNKS_BEFORE_FAULT_MEAN));
  }

  toServer(data: Buffer, isTransparent: boolean): void {
    if (!isTransparent && this.fault === null) {
      this.chunksLeft -= 1;
      if (this.chunksLeft <= 0) this.beginFault(this.rng.pick(CONNECTION_FAULTS));
    }
    if (this.fault === 'drop') return;
    if (this.fault !== 'delay') {
      this.upstream.write(data);
      return;
    }
    const delayMs = this.rng.between(0, DELAY_MS_MAX);
    const delay = new Promise((resolve) => setTimeout(resolve, delayMs));
    this.lastDelivery = Promise.all([this.lastDelivery, delay]).then(() => this.upstream.write(data));
  }

  toClient(data: Buffer): void {
    // A reply means that the request has arrived. The reply itself is never delivered.
    if (this.fault === 'reset_after_send') this.cut();
    else if (this.fault !== 'half_open') this.client.write(data);
  }

  cut(): void {
    if (!this.client.destroyed) this.client.resetAndDestroy();
    if (!this.upstream.destroyed) this.upstream.resetAndDestroy();
  }

  private beginFault(fault: ConnectionFault): void {
    this.fault = fault;
    this.onFault(fault);
    if (fault === 'drop' || fault === 'half_open') setTimeout(() => this.cut(), SILENT_CONNECTION_MS).unref();
  }
}

/** Default ports of the databases, for URLs without a port. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'mysql:': 3306,
  'mariadb:': 3306,
  'redis:': 6379,
  'valkey:': 6379,
};

/** The network address of a store URL; null if the URL has no address, or cannot be parsed. */
export function networkAddressOf(url: string): { host: string; port: number } | null {
  if (!URL.canParse(url)) return null;
  const endpoint = endpointOf(url);
  const { hostname, port, protocol } = new URL(endpoint ?? url);
  const portNumber =
    port === '' ? (DEFAULT_PORTS[protocol] ?? (protocol === 'http:' ? 80 : null)) : Number(port);
  return hostname === '' || portNumber === null
    ? null
    : { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: portNumber };
}

/** The URL of the same store, reached through a local port. */
export function storeUrlAtPort(url: string, port: number): string {
  const outer = new URL(url);
  const endpoint = endpointOf(url);
  const target = endpoint === null ? outer : new URL(endpoint);
  target.hostname = HOST;
  target.port = String(port);
  if (endpoint !== null) outer.searchParams.set('endpoint', target.href);
  return outer.href;
}

/** The server's address in a URL that names a database by its region (DynamoDB); null if the URL has no such parameter. */
const endpointOf = (url: string): string | null => new URL(url).searchParams.get('endpoint');
