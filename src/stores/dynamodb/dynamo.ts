import { setTimeout as sleep } from 'node:timers/promises';
import type {
  AttributeValue,
  DynamoDBClient,
  QueryCommandInput,
  TransactWriteItem,
} from '@aws-sdk/client-dynamodb';
import { loadDriver } from '../driver.js';
import { StoreUncertain } from '../store.js';
import { type DynamodbOptions, isLoopback } from './configuration.js';
import { type Failure, failureOf, type Reason, thrownFor } from './errors.js';
import type { Item, Key } from './keys.js';
import { type Tables, tablesOf } from './schema.js';

type Driver = typeof import('@aws-sdk/client-dynamodb');

const CONNECT_MS = 2_000;
const CONNECTIONS_MAX = 64;
/** An engine that is not there at all is asked a few times only: whoever waits should hear of it. */
const UNREACHED_TRIES = 4;
const BATCH_GET_MAX = 100;
const BATCH_WRITE_MAX = 25;

export type Transacted =
  | { readonly kind: 'done' }
  | { readonly kind: 'cancelled'; readonly reasons: readonly Reason[] }
  /** Its time ran out before it was known to have happened, and now it never will. */
  | { readonly kind: 'void' };

export interface Transaction {
  readonly id: string;
  readonly writes: readonly TransactWriteItem[];
  /** The write that only this transaction makes: whether it is there tells whether the transaction happened. */
  readonly mark: { readonly index: number; readonly table: string; readonly item: Item };
  /** From then on it must no longer happen. */
  readonly not_after_ms: number;
}

/** DynamoDB as the store speaks to it: the driver, what is tried again, and how long. */
export class Dynamo {
  private constructor(
    readonly driver: Driver,
    readonly client: DynamoDBClient,
    readonly tables: Tables,
    private readonly patience_ms: number,
    private readonly nowMs: () => number,
  ) {}

  static async connect(options: DynamodbOptions, nowMs: () => number): Promise<Dynamo> {
    const driver = await loadDriver('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));
    const anyone = isLoopback(options.endpoint) && process.env.AWS_ACCESS_KEY_ID === undefined;
    const client = new driver.DynamoDBClient({
      region: options.region,
      ...(options.endpoint === null ? {} : { endpoint: options.endpoint }),
      ...(anyone ? { credentials: { accessKeyId: 'local', secretAccessKey: 'local' } } : {}),
      // Trying again is ours: the driver does not know which failure leaves a transaction in doubt.
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        requestTimeout: options.reply_ms,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: CONNECTIONS_MAX, keepAlive: true },
        httpsAgent: { maxSockets: CONNECTIONS_MAX, keepAlive: true },
      },
    });
    return new Dynamo(driver, client, tablesOf(options.namespace), options.patience_ms, nowMs);
  }

  close(): void {
    this.client.destroy();
  }

  async get(table: string, key: Key): Promise<Item | undefined> {
    const input = { TableName: table, Key: key, ConsistentRead: true };
    return (await this.retried(() => this.client.send(new this.driver.GetItemCommand(input)))).Item;
  }

  /** In any order; those that are not there are left out. */
  async getAll(table: string, keys: readonly Key[]): Promise<Item[]> {
    const found: Item[] = [];
    let open = [...keys];
    for (let round = 0; open.length > 0; round += 1) {
      const some = open.slice(0, BATCH_GET_MAX);
      const input = { RequestItems: { [table]: { Keys: some, ConsistentRead: true } } };
      const { Responses, UnprocessedKeys } = await this.retried(() =>
        this.client.send(new this.driver.BatchGetItemCommand(input)),
      );
      found.push(...(Responses?.[table] ?? []));
      const left = UnprocessedKeys?.[table]?.Keys ?? [];
      if (left.length === some.length) await pause(round);
      open = [...left, ...open.slice(BATCH_GET_MAX)];
    }
    return found;
  }

  /** Page after page, for as long as the caller wants more. Only an index is read without waiting for the last write. */
  async *pages(query: QueryCommandInput): AsyncGenerator<Item[]> {
    let from: Item | undefined;
    do {
      const input = {
        ...query,
        ConsistentRead: query.IndexName === undefined,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      };
      const page = await this.retried(() => this.client.send(new this.driver.QueryCommand(input)));
      yield page.Items ?? [];
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
  }

  async all(query: QueryCommandInput): Promise<Item[]> {
    const found: Item[] = [];
    for await (const page of this.pages(query)) found.push(...page);
    return found;
  }

  async count(query: QueryCommandInput): Promise<number> {
    let counted = 0;
    let from: Item | undefined;
    do {
      const input: QueryCommandInput = {
        ...query,
        ConsistentRead: true,
        Select: 'COUNT',
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      };
      const page = await this.retried(() => this.client.send(new this.driver.QueryCommand(input)));
      counted += page.Count ?? 0;
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return counted;
  }

  /** Without conditions: for what is the same whoever writes it, and however often. */
  async putAll(table: string, items: readonly Item[]): Promise<void> {
    let open = items.map((Item) => ({ PutRequest: { Item } }));
    for (let round = 0; open.length > 0; round += 1) {
      const some = open.slice(0, BATCH_WRITE_MAX);
      const { UnprocessedItems } = await this.retried(() =>
        this.client.send(new this.driver.BatchWriteItemCommand({ RequestItems: { [table]: some } })),
      );
      const left = (UnprocessedItems?.[table] ?? []) as typeof open;
      if (left.length === some.length) await pause(round);
      open = [...left, ...open.slice(BATCH_WRITE_MAX)];
    }
  }

  async delete(table: string, key: Key): Promise<void> {
    const input = { TableName: table, Key: key };
    await this.retried(() => this.client.send(new this.driver.DeleteItemCommand(input)));
  }

  /** Whether the item was put: it is not where there is one already. */
  async putNew(table: string, item: Item): Promise<boolean> {
    const input = { TableName: table, Item: item, ConditionExpression: 'attribute_not_exists(pk)' };
    return this.retried(() =>
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
   * All of it or nothing, once. A transaction whose reply is lost is sent again as it was: the client token answers for
   * ten minutes, and the mark, which the transaction puts where nothing is, answers for as long as the mark is kept.
   */
  async transact(transaction: Transaction): Promise<Transacted> {
    const input = { TransactItems: [...transaction.writes], ClientRequestToken: transaction.id };
    const trial = new Trial(this.patience_ms);
    for (;;) {
      const failure = await this.attempt(() =>
        this.client.send(new this.driver.TransactWriteItemsCommand(input)),
      );
      if (failure === null) return { kind: 'done' };
      if (failure.kind === 'cancelled') return this.cancelled(transaction, failure.reasons);
      if (!trial.mayGoOn(failure)) throw trial.ended(failure);
      if (trial.in_doubt && this.nowMs() >= transaction.not_after_ms) return this.makeVoid(transaction);
      await trial.pause();
    }
  }

  /** Its own mark in the way means that it happened, and only the reply was lost. */
  private cancelled({ mark }: Transaction, reasons: readonly Reason[]): Transacted {
    const marked = reasons[mark.index];
    if (marked?.Code !== 'ConditionalCheckFailed') return { kind: 'cancelled', reasons };
    return 'void' in (marked.Item ?? {}) ? { kind: 'void' } : { kind: 'done' };
  }

  /** Whoever puts the mark first decides: with this one in its place, the transaction can no longer happen. */
  private async makeVoid({ mark }: Transaction): Promise<Transacted> {
    const isVoid = await this.putNew(mark.table, { ...mark.item, void: { BOOL: true } }).catch((error) => {
      throw new StoreUncertain((error as Error).message);
    });
    if (isVoid) return { kind: 'void' };
    const { pk } = mark.item as { pk: AttributeValue };
    const there = await this.get(mark.table, { pk });
    return there !== undefined && 'void' in there ? { kind: 'void' } : { kind: 'done' };
  }

  /** For what may be done twice. */
  async retried<T>(work: () => Promise<T>): Promise<T> {
    const trial = new Trial(this.patience_ms);
    for (;;) {
      let result: T | undefined;
      const failure = await this.attempt(async () => {
        result = await work();
      });
      if (failure === null) return result as T;
      if (!trial.mayGoOn(failure)) throw thrownFor(failure);
      await trial.pause();
    }
  }

  private async attempt(work: () => Promise<unknown>): Promise<Failure | null> {
    try {
      await work();
      return null;
    } catch (error) {
      return failureOf(error);
    }
  }
}

/** How often and for how long something was tried. */
class Trial {
  in_doubt = false;
  private tries = 0;
  private unreached = 0;
  private readonly until_ms: number;

  constructor(patience_ms: number) {
    this.until_ms = performance.now() + patience_ms;
  }

  mayGoOn(failure: Failure): boolean {
    this.tries += 1;
    if (failure.kind === 'unknown') this.in_doubt = true;
    if (failure.kind === 'unreached') this.unreached += 1;
    if (failure.kind === 'refused' || failure.kind === 'cancelled') return false;
    if (this.unreached >= UNREACHED_TRIES && !this.in_doubt) return false;
    return performance.now() < this.until_ms;
  }

  ended(failure: Failure): Error {
    const error = thrownFor(failure);
    return this.in_doubt ? new StoreUncertain(error.message) : error;
  }

  pause(): Promise<void> {
    return pause(this.tries);
  }
}

/** Longer each time, and never the same for two who got into each other's way. */
export const pause = (round: number): Promise<void> =>
  sleep(Math.random() * Math.min(4 * 2 ** Math.min(round, 10), 800));
