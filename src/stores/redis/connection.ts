import { certificateError, isCertificateError } from '../certificate.js';
import { loadDriver } from '../load-driver.js';
import { type StoreBroken, StoreRefused, StoreUnavailable } from '../store.js';
import {
  codeOf,
  endsConnection,
  historyLostError,
  isLostHistory,
  ReplyLost,
  toStoreError,
} from './errors.js';
import type { RedisOptions } from './options.js';
import { type RedisServerInfo, runPreflight } from './preflight.js';
import type { RedisScript } from './script.js';

type RedisArgument = string | Buffer;

interface RedisClient {
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  sendCommand(args: readonly RedisArgument[], options?: object): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<unknown>;
  destroy(): void;
}

type RedisDriver = Awaited<ReturnType<typeof loadRedisDriver>>;
const loadRedisDriver = () => loadDriver('redis', () => import('redis'));

/**
 * One connection, opened on demand and reopened after a loss; the preflight checks each new one before use. The
 * driver's own reconnect is off: it would resend commands that may have run already.
 */
export class RedisConnection {
  private client: RedisClient | null = null;
  private connecting: Promise<RedisClient> | null = null;
  private isClosed = false;
  /** Set once this store object is unusable: everything rejects with it. */
  private failure: StoreBroken | null = null;
  private resolveFinished!: (error: StoreBroken) => void;
  readonly finished = new Promise<StoreBroken>((resolve) => {
    this.resolveFinished = resolve;
  });

  private constructor(
    private readonly driver: RedisDriver,
    private readonly options: RedisOptions,
    private readonly onConnected: (
      server: RedisServerInfo,
      newConnection: NewRedisConnection,
    ) => Promise<void>,
  ) {}

  /** Rejects with `StoreRefused` if there is no such server, or one that cannot be used. */
  static async open(
    options: RedisOptions,
    onConnected: (
      server: RedisServerInfo,
      newConnection: NewRedisConnection,
    ) => Promise<void> = async () => {},
  ): Promise<RedisConnection> {
    const connection = new RedisConnection(await loadRedisDriver(), options, onConnected);
    try {
      connection.client = await connection.connect();
    } catch (error) {
      throw error instanceof StoreUnavailable ? new StoreRefused(error.message) : error;
    }
    return connection;
  }

  /** For idempotent commands: a lost reply is `StoreUnavailable`. */
  async send(args: readonly RedisArgument[], asBuffer = false): Promise<unknown> {
    return lostAsUnavailable(this.exchange(await this.readyClient(), args, asBuffer));
  }

  /** Like `send`. */
  run(script: RedisScript, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    return lostAsUnavailable(this.runOnce(script, keys, args));
  }

  /** For what must happen once: rejects with `ReplyLost` if it may have happened. */
  async runOnce(
    script: RedisScript,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    return this.runOn(await this.readyClient(), script, keys, args);
  }

  fail(error: StoreBroken): void {
    this.failure = error;
    this.resolveFinished(error);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const client = this.client ?? (await this.connecting?.catch(() => null)) ?? null;
    this.client = null;
    if (client?.isReady) await client.close().catch(() => client.destroy());
  }

  private async readyClient(): Promise<RedisClient> {
    if (this.failure !== null) throw this.failure;
    if (this.isClosed) throw new StoreUnavailable('This store is closed.');
    if (this.client?.isReady) return this.client;
    this.connecting ??= this.connect().finally(() => {
      this.connecting = null;
    });
    try {
      this.client = await this.connecting;
    } catch (error) {
      // A refusal asks the person who opens the store to fix it; on a later connection it is only a temporary failure.
      throw error instanceof StoreRefused ? new StoreUnavailable(error.message) : error;
    }
    return this.client;
  }

  private async connect(): Promise<RedisClient> {
    const client = this.newClient();
    const timer = setTimeout(() => client.destroy(), this.options.connect_timeout_ms);
    try {
      await client.connect();
      const send = (args: readonly string[]) => this.exchange(client, args, false);
      const run: NewRedisConnection['run'] = (script, keys, args) => this.runOn(client, script, keys, args);
      await this.onConnected(await runPreflight(send, this.options), { run });
      return client;
    } catch (error) {
      if (client.isReady) client.destroy();
      throw this.connectError(error as Error);
    } finally {
      clearTimeout(timer);
    }
  }

  private newClient(): RedisClient {
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
    // Pending calls get the error; without a listener it would end the process.
    client.on('error', () => {});
    return client as unknown as RedisClient;
  }

  private connectError(error: Error): Error {
    if (error instanceof this.driver.ErrorReply) return toStoreError(error);
    if (error.name.startsWith('Store')) return error;
    const { host, port } = this.options;
    if (isCertificateError(error)) return certificateError(`Redis at ${host}:${port}`, error);
    return new StoreUnavailable(`No Redis answers at ${host}:${port} (${errorNameOf(error)}).`);
  }

  private async runOn(
    client: RedisClient,
    script: RedisScript,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.exchange(client, ['EVALSHA', script.sha1, ...rest], false);
    } catch (error) {
      if (codeOf(error as Error) !== 'NOSCRIPT') throw error;
      // A restarted server has lost its scripts. EVAL runs this one and caches it again.
      return this.exchange(client, ['EVAL', script.text, ...rest], false);
    }
  }

  private async exchange(
    client: RedisClient,
    args: readonly RedisArgument[],
    asBuffer: boolean,
  ): Promise<unknown> {
    const timer = setTimeout(() => client.destroy(), this.options.statement_timeout_ms);
    try {
      return await client.sendCommand(args, asBuffer ? this.asBuffers : undefined);
    } catch (error) {
      if (!(error instanceof this.driver.ErrorReply)) throw new ReplyLost();
      if (codeOf(error) === 'NOSCRIPT') throw error;
      if (endsConnection(error)) client.destroy();
      if (isLostHistory(error)) this.fail(historyLostError());
      throw toStoreError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  private get asBuffers(): object {
    return { typeMapping: { [this.driver.RESP_TYPES.BLOB_STRING]: Buffer } };
  }
}

/** A connection that is not yet in use. */
export interface NewRedisConnection {
  run(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

async function lostAsUnavailable(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    throw error instanceof ReplyLost ? new StoreUnavailable(error.message) : error;
  }
}

const errorNameOf = (error: Error): string => (error as { code?: string }).code ?? error.name;
