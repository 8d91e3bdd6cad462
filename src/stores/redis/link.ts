import { certificateRefused, isCertificateFault } from '../certificate.js';
import { loadDriver } from '../driver.js';
import { type StoreBroken, StoreRefused, StoreUnavailable } from '../store.js';
import type { RedisOptions } from './configuration.js';
import { codeOf, endsConnection, historyLost, isLostHistory, ReplyLost, storeErrorOf } from './errors.js';
import type { Script } from './script.js';
import { inspect, type Server } from './server.js';

type Argument = string | Buffer;

interface Client {
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  sendCommand(args: readonly Argument[], options?: object): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<unknown>;
  destroy(): void;
}

type Driver = Awaited<ReturnType<typeof load>>;
const load = () => loadDriver('redis', () => import('redis'));

/**
 * One connection, made when it is needed and again when it is lost; every new one is inspected before anything is
 * asked over it. The driver's own reconnecting is off: it would send again what may have run already.
 */
export class Link {
  private client: Client | null = null;
  private connecting: Promise<Client> | null = null;
  private closed = false;
  /** Set once this store object is finished: everything rejects with it. */
  private loss: StoreBroken | null = null;
  private tellFinished!: (error: StoreBroken) => void;
  readonly finished = new Promise<StoreBroken>((resolve) => {
    this.tellFinished = resolve;
  });

  private constructor(
    private readonly driver: Driver,
    private readonly options: RedisOptions,
    private readonly onConnected: (server: Server, fresh: FreshLink) => Promise<void>,
  ) {}

  /** Rejects with `StoreRefused` when there is no such server, or one that cannot be used. */
  static async open(
    options: RedisOptions,
    onConnected: (server: Server, fresh: FreshLink) => Promise<void> = async () => {},
  ): Promise<Link> {
    const link = new Link(await load(), options, onConnected);
    try {
      link.client = await link.connect();
    } catch (error) {
      throw error instanceof StoreUnavailable ? new StoreRefused(error.message) : error;
    }
    return link;
  }

  /** For what may be asked twice: an answer that was lost is `StoreUnavailable`. */
  async send(args: readonly Argument[], asBuffer = false): Promise<unknown> {
    return unlessLost(this.exchange(await this.ready(), args, asBuffer));
  }

  /** As `send`. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return unlessLost(this.attempt(script, keys, args));
  }

  /** For what must happen once: rejects with `ReplyLost` when it may have happened. */
  async attempt(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.runOver(await this.ready(), script, keys, args);
  }

  finish(error: StoreBroken): void {
    this.loss = error;
    this.tellFinished(error);
  }

  async close(): Promise<void> {
    this.closed = true;
    const client = this.client ?? (await this.connecting?.catch(() => null)) ?? null;
    this.client = null;
    if (client?.isReady) await client.close().catch(() => client.destroy());
  }

  private async ready(): Promise<Client> {
    if (this.loss !== null) throw this.loss;
    if (this.closed) throw new StoreUnavailable('This store is closed.');
    if (this.client?.isReady) return this.client;
    this.connecting ??= this.connect().finally(() => {
      this.connecting = null;
    });
    try {
      this.client = await this.connecting;
    } catch (error) {
      // Whoever opens a store is told to mend it; later on, all there is to say is that it does not work now.
      throw error instanceof StoreRefused ? new StoreUnavailable(error.message) : error;
    }
    return this.client;
  }

  private async connect(): Promise<Client> {
    const client = this.newClient();
    const timer = setTimeout(() => client.destroy(), this.options.connect_timeout_ms);
    try {
      await client.connect();
      const send = (args: readonly string[]) => this.exchange(client, args, false);
      const run: FreshLink['run'] = (script, keys, args) => this.runOver(client, script, keys, args);
      await this.onConnected(await inspect(send, this.options), { run });
      return client;
    } catch (error) {
      if (client.isReady) client.destroy();
      throw this.connectError(error as Error);
    } finally {
      clearTimeout(timer);
    }
  }

  private newClient(): Client {
    const { host, port, tls, username, password, database, connect_timeout_ms } = this.options;
    const client = this.driver.createClient({
      socket: {
        host,
        port,
        ...(tls ? { tls } : {}),
        connectTimeout: connect_timeout_ms,
        reconnectStrategy: false,
      },
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      database,
      RESP: 2,
      disableClientInfo: true,
      maintNotifications: 'disabled',
    });
    // Whoever waits for an answer is told; without a listener it would end the process.
    client.on('error', () => {});
    return client as unknown as Client;
  }

  private connectError(error: Error): Error {
    if (error instanceof this.driver.ErrorReply) return storeErrorOf(error);
    if (error.name.startsWith('Store')) return error;
    const { host, port } = this.options;
    if (isCertificateFault(error)) return certificateRefused(`Redis at ${host}:${port}`, error);
    return new StoreUnavailable(`No Redis answers at ${host}:${port} (${said(error)}).`);
  }

  private async runOver(
    client: Client,
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.exchange(client, ['EVALSHA', script.sha1, ...rest], false);
    } catch (error) {
      if (codeOf(error as Error) !== 'NOSCRIPT') throw error;
      // A server forgets its scripts when it restarts. EVAL runs this one, and the server knows it from then on.
      return this.exchange(client, ['EVAL', script.text, ...rest], false);
    }
  }

  private async exchange(client: Client, args: readonly Argument[], asBuffer: boolean): Promise<unknown> {
    const timer = setTimeout(() => client.destroy(), this.options.statement_timeout_ms);
    try {
      return await client.sendCommand(args, asBuffer ? this.as_buffers : undefined);
    } catch (error) {
      if (!(error instanceof this.driver.ErrorReply)) throw new ReplyLost();
      if (codeOf(error) === 'NOSCRIPT') throw error;
      if (endsConnection(error)) client.destroy();
      if (isLostHistory(error)) this.finish(historyLost());
      throw storeErrorOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  private get as_buffers(): object {
    return { typeMapping: { [this.driver.RESP_TYPES.BLOB_STRING]: Buffer } };
  }
}

/** A connection that is not in use yet. */
export interface FreshLink {
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

async function unlessLost(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    throw error instanceof ReplyLost ? new StoreUnavailable(error.message) : error;
  }
}

const said = (error: Error): string => (error as { code?: string }).code ?? error.name;
