import { setTimeout as sleep } from 'node:timers/promises';
import type {
  AttributeValue,
  DynamoDBClient,
  QueryCommandInput,
  TransactWriteItem,
} from '@aws-sdk/client-dynamodb';
import { loadDriver } from '../load-driver.js';
import { StoreUncertain } from '../store.js';
import { type CancellationReason, classifyError, type DynamodbFailure, toStoreError } from './errors.js';
import type { DynamoItem, DynamoKey } from './keys.js';
import { type DynamodbOptions, isLoopback } from './options.js';
import { type Tables, tablesOf } from './schema.js';

type DynamodbDriver = typeof import('@aws-sdk/client-dynamodb');

const CONNECT_MS = 2_000;
const CONNECTIONS_MAX = 64;
/** Maximum number of attempts to reach an unreachable engine, so that callers learn of it soon. */
const UNREACHED_TRIES_MAX = 4;
const BATCH_GET_MAX = 100;
const BATCH_WRITE_MAX = 25;

export type TransactResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'cancelled'; readonly reasons: readonly CancellationReason[] }
  /** Its time ran out before it was known to have happened, and now it never will. */
  | { readonly kind: 'void' };

export interface AtomicWrite {
  readonly id: string;
  readonly writes: readonly TransactWriteItem[];
  /** The write that only this transaction makes: its presence shows whether the transaction happened. */
  readonly mark: { readonly index: number; readonly table: string; readonly item: DynamoItem };
  /** From this time on, it must not happen. */
  readonly not_after_ms: number;
}

/** A DynamoDB client with the store's own retries and timeouts. */
export class DynamoClient {
  private constructor(
    readonly driver: DynamodbDriver,
    readonly client: DynamoDBClient,
    readonly tables: Tables,
    private readonly patienceMs: number,
    private readonly nowMs: () => number,
  ) {}

  static async connect(options: DynamodbOptions, nowMs: () => number): Promise<DynamoClient> {
    const driver = await loadDriver('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));
    const isEmulator = isLoopback(options.endpoint) && process.env.AWS_ACCESS_KEY_ID === undefined;
    const client = new driver.DynamoDBClient({
      region: options.region,
      ...(options.endpoint === null ? {} : { endpoint: options.endpoint }),
      ...(isEmulator ? { credentials: { accessKeyId: 'local', secretAccessKey: 'local' } } : {}),
      // Retries are ours: the driver does not know which failure leaves a transaction in doubt.
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        requestTimeout: options.reply_ms,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: CONNECTIONS_MAX, keepAlive: true },
        httpsAgent: { maxSockets: CONNECTIONS_MAX, keepAlive: true },
      },
    });
    return new DynamoClient(driver, client, tablesOf(options.namespace), options.patience_ms, nowMs);
  }

  close(): void {
    this.client.destroy();
  }

  async get(table: string, key: DynamoKey): Promise<DynamoItem | undefined> {
    const input = { TableName: table, Key: key, ConsistentRead: true };
    return (await this.withRetries(() => this.client.send(new this.driver.GetItemCommand(input)))).Item;
  }

  /** In any order; missing items are omitted. */
  async getAll(table: string, keys: readonly DynamoKey[]): Promise<DynamoItem[]> {
    const found: DynamoItem[] = [];
    let open = [...keys];
    for (let round = 0; open.length > 0; round += 1) {
      const some = open.slice(0, BATCH_GET_MAX);
      const input = { RequestItems: { [table]: { Keys: some, ConsistentRead: true } } };
      const { Responses, UnprocessedKeys } = await this.withRetries(() =>
        this.client.send(new this.driver.BatchGetItemCommand(input)),
      );
      found.push(...(Responses?.[table] ?? []));
      const left = UnprocessedKeys?.[table]?.Keys ?? [];
      if (left.length === some.length) await pause(round);
      open = [...left, ...open.slice(BATCH_GET_MAX)];
    }
    return found;
  }

  /** Yields page after page. Reads are consistent, except those of an index. */
  async *pages(query: QueryCommandInput): AsyncGenerator<DynamoItem[]> {
    let from: DynamoItem | undefined;
    do {
      const input = {
        ...query,
        ConsistentRead: query.IndexName === undefined,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      };
      const page = await this.withRetries(() => this.client.send(new this.driver.QueryCommand(input)));
      yield page.Items ?? [];
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
  }

  async all(query: QueryCommandInput): Promise<DynamoItem[]> {
    const found: DynamoItem[] = [];
    for await (const page of this.pages(query)) found.push(...page);
    return found;
  }

  async count(query: QueryCommandInput): Promise<number> {
    let counted = 0;
    let from: DynamoItem | undefined;
    do {
      const input: QueryCommandInput = {
        ...query,
        ConsistentRead: true,
        Select: 'COUNT',
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      };
      const page = await this.withRetries(() => this.client.send(new this.driver.QueryCommand(input)));
      counted += page.Count ?? 0;
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return counted;
  }

  /** Puts without conditions: for items that are the same whoever writes them, and however often. */
  async putAll(table: string, items: readonly DynamoItem[]): Promise<void> {
    let open = items.map((Item) => ({ PutRequest: { Item } }));
    for (let round = 0; open.length > 0; round += 1) {
      const some = open.slice(0, BATCH_WRITE_MAX);
      const { UnprocessedItems } = await this.withRetries(() =>
        this.client.send(new this.driver.BatchWriteItemCommand({ RequestItems: { [table]: some } })),
      );
      const left = (UnprocessedItems?.[table] ?? []) as typeof open;
      if (left.length === some.length) await pause(round);
      open = [...left, ...open.slice(BATCH_WRITE_MAX)];
    }
  }

  async delete(table: string, key: DynamoKey): Promise<void> {
    const input = { TableName: table, Key: key };
    await this.withRetries(() => this.client.send(new this.driver.DeleteItemCommand(input)));
  }

  /** Puts an item if there is none. Returns whether it was put. */
  async putNew(table: string, item: DynamoItem): Promise<boolean> {
    const input = { TableName: table, Item: item, ConditionExpression: 'attribute_not_exists(pk)' };
    return this.withRetries(() =>
      this.client.send(new this.driver.PutItemCommand(input)).then(
        () => true,
        (error) => {
          if ((error as Error).name === 'ConditionalCheckFailedException') return false;
          throw error;
        },
      ),
    );
  }

  /**
   * Executes a transaction exactly once. If its reply is lost, it is sent again unchanged: the client token detects a
   * repeat for ten minutes, and the mark, which the transaction puts only if it is absent, for as long as the mark is
   * kept.
   */
  async transact(transaction: AtomicWrite): Promise<TransactResult> {
    const input = { TransactItems: [...transaction.writes], ClientRequestToken: transaction.id };
    const retries = new RetryBudget(this.patienceMs);
    for (;;) {
      const failure = await this.attempt(() =>
        this.client.send(new this.driver.TransactWriteItemsCommand(input)),
      );
      if (failure === null) return { kind: 'done' };
      if (failure.kind === 'cancelled') return this.cancelled(transaction, failure.reasons);
      if (!retries.canRetry(failure)) throw retries.finalError(failure);
      if (retries.isInDoubt && this.nowMs() >= transaction.not_after_ms) return this.makeVoid(transaction);
      await retries.pause();
    }
  }

  /** The transaction's own mark failing its condition means that it happened, and only the reply was lost. */
  private cancelled({ mark }: AtomicWrite, reasons: readonly CancellationReason[]): TransactResult {
    const marked = reasons[mark.index];
    if (marked?.Code !== 'ConditionalCheckFailed') return { kind: 'cancelled', reasons };
    return 'void' in (marked.Item ?? {}) ? { kind: 'void' } : { kind: 'done' };
  }

  /** The first to put the mark decides: with a void mark in place, the transaction can no longer happen. */
  private async makeVoid({ mark }: AtomicWrite): Promise<TransactResult> {
    const isVoid = await this.putNew(mark.table, { ...mark.item, void: { BOOL: true } }).catch((error) => {
      throw new StoreUncertain((error as Error).message);
    });
    if (isVoid) return { kind: 'void' };
    const { pk } = mark.item as { pk: AttributeValue };
    const existing = await this.get(mark.table, { pk });
    return existing !== undefined && 'void' in existing ? { kind: 'void' } : { kind: 'done' };
  }

  /** For idempotent work. */
  async withRetries<T>(work: () => Promise<T>): Promise<T> {
    const retries = new RetryBudget(this.patienceMs);
    for (;;) {
      let result: T | undefined;
      const failure = await this.attempt(async () => {
        result = await work();
      });
      if (failure === null) return result as T;
      if (!retries.canRetry(failure)) throw toStoreError(failure);
      await retries.pause();
    }
  }

  private async attempt(work: () => Promise<unknown>): Promise<DynamodbFailure | null> {
    try {
      await work();
      return null;
    } catch (error) {
      return classifyError(error);
    }
  }
}

/** Counts the attempts and limits their number and duration. */
class RetryBudget {
  isInDoubt = false;
  private tries = 0;
  private unreachedCount = 0;
  private readonly untilMs: number;

  constructor(patienceMs: number) {
    this.untilMs = performance.now() + patienceMs;
  }

  canRetry(failure: DynamodbFailure): boolean {
    this.tries += 1;
    if (failure.kind === 'unknown') this.isInDoubt = true;
    if (failure.kind === 'unreached') this.unreachedCount += 1;
    if (failure.kind === 'refused' || failure.kind === 'cancelled') return false;
    if (this.unreachedCount >= UNREACHED_TRIES_MAX && !this.isInDoubt) return false;
    return performance.now() < this.untilMs;
  }

  finalError(failure: DynamodbFailure): Error {
    const error = toStoreError(failure);
    return this.isInDoubt ? new StoreUncertain(error.message) : error;
  }

  pause(): Promise<void> {
    return pause(this.tries);
  }
}

/** Exponential backoff with jitter, so that two clients in conflict do not retry in step. */
export const pause = (round: number): Promise<void> =>
  sleep(Math.random() * Math.min(4 * 2 ** Math.min(round, 10), 800));
