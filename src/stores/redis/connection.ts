import { certificateError, isCertificateError } from '../certificate.js';
import { loadDriver } from '../load-driver.js';
import { type StoreBroken, StoreRefused, StoreUnavailable } from '../store.js';
import { codeOf, endsConnection, HistoryLost, ReplyLost, toStoreError } from './errors.js';
import type { RedisOptions } from './options.js';
import { type RedisServerInfo, runPreflight } from './preflight.js';
import type { RedisScript } from './script.js';

type RedisArgument = string | Buffer;
type ScriptCall = [script: RedisScript, keys: readonly string[], args: readonly RedisArgument[]];

/** Checks a connection that is not yet in use. */
export type OnConnected = (
  server: RedisServerInfo,
  run: (...call: ScriptCall) => Promise<unknown>,
) => Promise<void>;

type RedisDriver = Awaited<ReturnType<typeof loadRedisDriver>>;
const loadRedisDriver = () => loadDriver('redis', () => import('redis'));
type RedisClient = ReturnType<typeof newClient>;

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
  private resolveBroken!: (error: StoreBroken) => void;
  readonly broken = new Promise<StoreBroken>((resolve) => {
    this.resolveBroken = resolve;
  });

  private constructor(
    private readonly driver: RedisDriver,
    private readonly options: RedisOptions,
    private readonly onConnected: OnConnected,
  ) {}

  /** Rejects with `StoreRefused` if there is no such server, or one that cannot be used. */
  static async open(
    options: RedisOptions,
    onConnected: OnConnected = async () => {},
  ): Promise<RedisConnection> {
    const connection = new RedisConnection(await loadRedisDriver(), options, onConnected);
    try {
      connection.client = await connection.connect();
    } catch (error) {
      throw error instanceof StoreUnavailable ? new StoreRefused(error.message) : error;
    }
    return connection;
  }

  /** Sends an idempotent command: a lost reply is `StoreUnavailable`. */
  async send(args: readonly RedisArgument[], returnsBuffer = false): Promise<unknown> {
    return lostAsUnavailable(this.exchange(await this.readyClient(), args, returnsBuffer));
  }

  /** Runs an idempotent script: a lost reply is `StoreUnavailable`. */
  run(...call: ScriptCall): Promise<unknown> {
    return lostAsUnavailable(this.runOnce(...call));
  }

  /** Runs a script that must take effect once. Rejects with `ReplyLost` if it may have run. */
  async runOnce(...call: ScriptCall): Promise<unknown> {
    return this.runOn(await this.readyClient(), ...call);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const client = this.client ?? (await this.connecting?.catch(() => null)) ?? null;
    this.client = null;
    if (client?.isReady) await client.close().catch(() => client.destroy());
  }

  private async readyClient(): Promise<RedisClient> {
    if (this.failure !== null) throw this.failure;
    if (this.isClosed) throw new StoreUnavailable('The store is closed. Reopen it to continue.');
    if (this.client?.isReady) return this.client;
    this.connecting ??= this.connect().finally(() => {
      this.connecting = null;
    });
    try {
      this.client = await this.connecting;
    } catch (error) {
      // A refusal tells the person who opens a store what to fix. On a later connection it is a temporary failure.
      throw error instanceof StoreRefused ? new StoreUnavailable(error.message) : error;
    }
    return this.client;
  }

  private async connect(): Promise<RedisClient> {
    const client = newClient(this.driver, this.options);
    const timer = setTimeout(() => client.destroy(), this.options.connect_timeout_ms);
    try {
      await client.connect();
      const server = await runPreflight((args) => this.exchange(client, args), this.options);
      await this.onConnected(server, (...call) => this.runOn(client, ...call));
      return client;
    } catch (error) {
      if (client.isReady) client.destroy();
      throw this.noteLoss(this.connectError(error as Error));
    } finally {
      clearTimeout(timer);
    }
  }

  private connectError(error: Error): Error {
    if (error instanceof this.driver.ErrorReply) return toStoreError(error);
    if (error.name.startsWith('Store')) return error;
    const { host, port } = this.options;
    if (isCertificateError(error)) return certificateError(`Redis at ${host}:${port}`, error);
    const name = (error as { code?: string }).code ?? error.name;
    return new StoreUnavailable(
      `No Redis responds at ${host}:${port} (${name}). Check the URL, and that the server is running.`,
    );
  }

  private async runOn(client: RedisClient, ...[script, keys, args]: ScriptCall): Promise<unknown> {
    const scriptArguments = [String(keys.length), ...keys, ...args];
    try {
      return await this.exchange(client, ['EVALSHA', script.sha1, ...scriptArguments]);
    } catch (error) {
      if (codeOf(error as Error) !== 'NOSCRIPT') throw error;
      // The server was restarted, or has never run this script. EVAL runs it, and caches it for the next call.
      return this.exchange(client, ['EVAL', script.text, ...scriptArguments]);
    }
  }

  private async exchange(
    client: RedisClient,
    args: readonly RedisArgument[],
    returnsBuffer = false,
  ): Promise<unknown> {
    const timer = setTimeout(() => client.destroy(), this.options.statement_timeout_ms);
    const bufferOptions = { typeMapping: { [this.driver.RESP_TYPES.BLOB_STRING]: Buffer } };
    try {
      return await client.sendCommand(args, returnsBuffer ? bufferOptions : undefined);
    } catch (error) {
      if (!(error instanceof this.driver.ErrorReply)) throw new ReplyLost();
      if (codeOf(error) === 'NOSCRIPT') throw error;
      if (endsConnection(error)) client.destroy();
      throw this.noteLoss(toStoreError(error));
    } finally {
      clearTimeout(timer);
    }
  }

  /** If the error reports a loss of history, makes this object unusable. Returns the error in any case. */
  private noteLoss(error: Error): Error {
    if (error instanceof HistoryLost) {
      this.failure = error;
      this.resolveBroken(error);
    }
    return error;
  }
}

function newClient(driver: RedisDriver, options: RedisOptions) {
  const { host, port, tls, username, password, database, connect_timeout_ms } = options;
  const client = driver.createClient({
    socket: {
      host,
      port,
      ...(tls ? { tls } : {}),
      connectTimeout: connect_timeout_ms,
      reconnectStrategy: false,
    },
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    database,
    RESP: 2,
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
  // Pending calls get the error. Without a listener, the error would end the process.
  client.on('error', () => {});
  return client;
}

async function lostAsUnavailable(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    throw error instanceof ReplyLost ? new StoreUnavailable(error.message) : error;
  }
}
