import { setTimeout as sleep } from 'node:timers/promises';
import type {
  DynamoDBClient,
  PutItemCommandInput,
  QueryCommandInput,
  QueryCommandOutput,
  TransactWriteItem,
  UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { loadDriver } from '../load-driver.js';
import { StoreUncertain } from '../store.js';
import { classifyError, type DynamodbFailure, toStoreError } from './errors.js';
import type { DynamoItem, DynamoKey } from './keys.js';
import { type DynamodbOptions, isLoopbackEndpoint } from './options.js';
import { ATTEMPT_ATTRIBUTE, type TableNames, tablesOf } from './schema.js';

type DynamodbDriver = typeof import('@aws-sdk/client-dynamodb');

const CONNECT_TIMEOUT_MS = 2_000;
const CONNECTIONS_MAX = 64;
/** Maximum number of attempts to reach an unreachable database, so that callers soon get an error. */
const UNREACHED_TRIES_MAX = 4;
const BATCH_GET_MAX = 100;
const BATCH_WRITE_MAX = 25;

export interface AtomicWrite {
  readonly id: string;
  readonly writes: readonly TransactWriteItem[];
  /** An item that names the transaction that wrote it, and so shows whether this transaction happened. */
  readonly mark: { readonly table: string; readonly key: DynamoKey };
  /** Succeeds only if the transaction has not happened, and prevents it from then on. */
  readonly voidingPut: PutItemCommandInput;
  /** The time from which on the write must not happen. */
  readonly not_after_ms: number;
}

/** A DynamoDB client with the store's own retries and timeouts. */
export class DynamoClient {
  private isClosed = false;

  private constructor(
    readonly driver: DynamodbDriver,
    readonly client: DynamoDBClient,
    readonly tables: TableNames,
    private readonly patienceMs: number,
    private readonly nowMs: () => number,
  ) {}

  static async connect(options: DynamodbOptions, nowMs: () => number): Promise<DynamoClient> {
    const driver = await loadDriver('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));
    const isEmulator = isLoopbackEndpoint(options.endpoint) && process.env.AWS_ACCESS_KEY_ID === undefined;
    const client = new driver.DynamoDBClient({
      region: options.region,
      ...(options.endpoint === null ? {} : { endpoint: options.endpoint }),
      ...(isEmulator ? { credentials: { accessKeyId: 'local', secretAccessKey: 'local' } } : {}),
      // The store retries, not the driver: only the store tracks after which failures a transaction may have committed.
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: options.reply_ms,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: CONNECTIONS_MAX, keepAlive: true },
        httpsAgent: { maxSockets: CONNECTIONS_MAX, keepAlive: true },
      },
    });
    return new DynamoClient(driver, client, tablesOf(options.namespace), options.patience_ms, nowMs);
  }

  /** Closes the client. Background work is not retried after this, since no caller waits for it. */
  close(): void {
    this.isClosed = true;
    this.client.destroy();
  }

  async get(table: string, key: DynamoKey): Promise<DynamoItem | undefined> {
    const input = { TableName: table, Key: key, ConsistentRead: true };
    return (await this.withRetries(() => this.client.send(new this.driver.GetItemCommand(input)))).Item;
  }

  /** The items with these keys, in any order. Missing items are omitted. */
  async getAll(table: string, keys: readonly DynamoKey[]): Promise<DynamoItem[]> {
    const items: DynamoItem[] = [];
    let remaining = [...keys];
    for (let round = 0; remaining.length > 0; round += 1) {
      const batch = remaining.slice(0, BATCH_GET_MAX);
      const input = { RequestItems: { [table]: { Keys: batch, ConsistentRead: true } } };
      const { Responses, UnprocessedKeys } = await this.withRetries(() =>
        this.client.send(new this.driver.BatchGetItemCommand(input)),
      );
      items.push(...(Responses?.[table] ?? []));
      const unprocessed = UnprocessedKeys?.[table]?.Keys ?? [];
      if (unprocessed.length === batch.length) await pause(round);
      remaining = [...unprocessed, ...remaining.slice(BATCH_GET_MAX)];
    }
    return items;
  }

  /** Yields page after page. Reads are consistent, except reads of an index. */
  async *pages(query: QueryCommandInput): AsyncGenerator<DynamoItem[]> {
    for await (const { Items } of this.replies(query)) yield Items ?? [];
  }

  async all(query: QueryCommandInput): Promise<DynamoItem[]> {
    const items: DynamoItem[] = [];
    for await (const page of this.pages(query)) items.push(...page);
    return items;
  }

  /** All items with this partition key. */
  partition(TableName: string, pk: string): Promise<DynamoItem[]> {
    const ExpressionAttributeValues = { ':pk': { S: pk } };
    return this.all({ TableName, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues });
  }

  async count(query: QueryCommandInput): Promise<number> {
    let total = 0;
    for await (const { Count } of this.replies({ ...query, Select: 'COUNT' })) total += Count ?? 0;
    return total;
  }

  private async *replies(query: QueryCommandInput): AsyncGenerator<QueryCommandOutput> {
    let from: DynamoItem | undefined;
    do {
      const input = {
        ...query,
        ConsistentRead: query.IndexName === undefined,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      };
      const page = await this.withRetries(() => this.client.send(new this.driver.QueryCommand(input)));
      yield page;
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
  }

  /** Puts items without conditions: for puts that change nothing when they are repeated. */
  async putAll(table: string, items: readonly DynamoItem[]): Promise<void> {
    let remaining = items.map((Item) => ({ PutRequest: { Item } }));
    for (let round = 0; remaining.length > 0; round += 1) {
      const batch = remaining.slice(0, BATCH_WRITE_MAX);
      const { UnprocessedItems } = await this.withRetries(() =>
        this.client.send(new this.driver.BatchWriteItemCommand({ RequestItems: { [table]: batch } })),
      );
      const unprocessed = (UnprocessedItems?.[table] ?? []) as typeof remaining;
      if (unprocessed.length === batch.length) await pause(round);
      remaining = [...unprocessed, ...remaining.slice(BATCH_WRITE_MAX)];
    }
  }

  async delete(table: string, key: DynamoKey): Promise<void> {
    const input = { TableName: table, Key: key };
    await this.withRetries(() => this.client.send(new this.driver.DeleteItemCommand(input)));
  }

  /** Puts an item if there is none. Returns whether it was put, as far as known: see `putIf`. */
  putNew(table: string, item: DynamoItem): Promise<boolean> {
    return this.putIf({ TableName: table, Item: item, ConditionExpression: 'attribute_not_exists(pk)' });
  }

  /** Puts an item if its condition holds. Returns whether it was put; perhaps false if the reply to a put that happened was lost. */
  putIf(input: PutItemCommandInput): Promise<boolean> {
    return this.whetherConditionHeld(() => this.client.send(new this.driver.PutItemCommand(input)));
  }

  /** Updates an item if its condition holds. Returns whether it was updated, as far as known: see `putIf`. */
  updateIf(input: UpdateItemCommandInput): Promise<boolean> {
    return this.whetherConditionHeld(() => this.client.send(new this.driver.UpdateItemCommand(input)));
  }

  private whetherConditionHeld(work: () => Promise<unknown>): Promise<boolean> {
    return this.withRetries(() =>
      work().then(
        () => true,
        (error) => {
          if ((error as Error).name === 'ConditionalCheckFailedException') return false;
          throw error;
        },
      ),
    );
  }

  /**
   * Executes a transaction at most once, and returns whether it happened. False: a condition failed, or the transaction had
   * not happened at `not_after_ms`; if a reply was lost, it was then voided. Until then, it is sent again unchanged after a
   * lost reply: the client token prevents a second effect for ten minutes; after that, its conditions and its mark do.
   */
  async transact(transaction: AtomicWrite): Promise<boolean> {
    const input = { TransactItems: [...transaction.writes], ClientRequestToken: transaction.id };
    const retries = new RetryBudget(this.patienceMs);
    for (;;) {
      try {
        await this.client.send(new this.driver.TransactWriteItemsCommand(input));
        return true;
      } catch (error) {
        const failure = classifyError(error);
        const canRetry = retries.countFailure(failure);
        if (failure.kind === 'cancelled') return retries.isInDoubt && !(await this.makeVoid(transaction));
        if (!canRetry) throw retries.finalError(failure);
        const isLate = this.nowMs() >= transaction.not_after_ms;
        if (isLate) return retries.isInDoubt && !(await this.makeVoid(transaction));
        await pause(retries.tries);
      }
    }
  }

  /** Makes sure that a transaction in doubt does not happen any more. Returns false if it has happened. */
  private async makeVoid({ id, mark, voidingPut }: AtomicWrite): Promise<boolean> {
    try {
      // If the reply of this put is lost, its repeat fails. Then the mark is missing, so the result is the same.
      if (await this.putIf(voidingPut)) return true;
      return (await this.get(mark.table, mark.key))?.[ATTEMPT_ATTRIBUTE]?.S !== id;
    } catch (error) {
      throw new StoreUncertain((error as Error).message);
    }
  }

  /** Runs idempotent work until it succeeds, a retry is useless, the retries are used up, or this client is closed. */
  async withRetries<T>(work: () => Promise<T>): Promise<T> {
    const retries = new RetryBudget(this.patienceMs);
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const failure = classifyError(error);
        if (this.isClosed || !retries.countFailure(failure)) throw toStoreError(failure);
        await pause(retries.tries);
      }
    }
  }
}

/** Counts the attempts and limits their number and duration. */
class RetryBudget {
  isInDoubt = false;
  tries = 0;
  private unreachedCount = 0;
  private readonly untilMs: number;

  constructor(patienceMs: number) {
    this.untilMs = performance.now() + patienceMs;
  }

  /** Counts a failed attempt. Returns whether another attempt is allowed. */
  countFailure(failure: DynamodbFailure): boolean {
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
}

/** Exponential backoff with jitter, so that two clients in conflict do not retry in step. */
export const pause = (round: number): Promise<void> =>
  sleep(Math.random() * Math.min(4 * 2 ** Math.min(round, 10), 800));
