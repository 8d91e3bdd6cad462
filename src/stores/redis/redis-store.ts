import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { matcher } from '../event-matcher.js';
import type { MigrationStep, Migrator } from '../migrator.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  type ProjectRow,
  type Store,
  StoreBroken,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  StoreRefused,
  StoreUnavailable,
  StoreUncertain,
  type Transaction,
} from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { decodeOutcomes, encodeBatch, headFromStored } from './batch.js';
import { RedisBlobs } from './blobs.js';
import { COMMIT_SCRIPT, FOREVER_MS } from './commit-script.js';
import { type NewRedisConnection, RedisConnection } from './connection.js';
import { historyLostError, ReplyLost } from './errors.js';
import { INDEX_PREFIX, RedisKeys, TYPE_INDEX_PREFIX } from './keys.js';
import type { RedisOptions } from './options.js';
import type { RedisServerInfo } from './preflight.js';
import { COUNT_PERMITS_SCRIPT, EVENTS_SCRIPT, SCAN_HEADS_SCRIPT } from './read-scripts.js';
import { IDENTIFY_SCRIPT, migrationScript, SCHEMA_VERSION, stepsAfter } from './schema.js';

/** How long a commit whose reply was lost is retried. */
const RETRY_MS = 10_000;
const PAUSE_MS = 100;

export async function openRedisStore(options: RedisOptions): Promise<RedisStore> {
  const identity = new ServerIdentity(options);
  const connection = await RedisConnection.open(options, (server, newConnection) =>
    identity.verify(server, newConnection),
  );
  identity.onLoss = (error) => connection.fail(error);
  return new RedisStore(options, connection, identity);
}

/** The identity of the store, checked on every new connection: a server that may have lost history is another store. */
class ServerIdentity {
  meta: StoreMeta | null = null;
  replication_id = '';
  onLoss: (error: StoreBroken) => void = () => {};
  private readonly keys: RedisKeys;

  constructor(private readonly options: RedisOptions) {
    this.keys = new RedisKeys(options.namespace);
  }

  async verify(
    { replication_id, isPromoted: promoted }: RedisServerInfo,
    newConnection: NewRedisConnection,
  ): Promise<void> {
    const canLoseHistory = this.options.profile === 'ha' || promoted;
    const reply = await newConnection.run(
      IDENTIFY_SCRIPT,
      [this.keys.meta],
      [replication_id, canLoseHistory ? '1' : '0'],
    );
    const [version, secret, incarnation] = reply as [number, string, number];
    if (this.meta === null) {
      if (version !== SCHEMA_VERSION) throw schemaVersionError(version);
      this.meta = { incarnation, secret };
    } else if (this.meta.secret !== secret || this.meta.incarnation !== incarnation) {
      const lost = historyLostError();
      this.onLoss(lost);
      throw lost;
    }
    this.replication_id = replication_id;
  }
}

function schemaVersionError(found: number): StoreRefused {
  if (found > SCHEMA_VERSION) return newerSchemaError(found);
  return new StoreRefused(
    `This Redis holds no Genesis Fleet of version ${SCHEMA_VERSION} yet. Run: gen migrate --store URL`,
  );
}

const newerSchemaError = (found: number): StoreRefused =>
  new StoreRefused(
    `The data in this Redis has version ${found}, which is newer than this program: update genesis-fleet.`,
  );

/** A store for any number of coordinators on one primary: every commit is one script, and Redis runs one script at a time. */
export class RedisStore implements Store {
  readonly capabilities: StoreCapabilities;
  readonly blobs: RedisBlobs;
  readonly finished: Promise<StoreBroken>;
  private readonly keys: RedisKeys;
  private latestMs = 0;

  constructor(
    private readonly options: RedisOptions,
    private readonly connection: RedisConnection,
    private readonly identity: { readonly meta: StoreMeta | null; readonly replication_id: string },
  ) {
    this.keys = new RedisKeys(options.namespace);
    this.blobs = new RedisBlobs(connection, this.keys);
    this.finished = connection.finished;
    this.capabilities = capabilitiesOf(options);
  }

  /** One script per tenant, since their keys may be on different nodes; usually there is only one. */
  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    for (const transaction of transactions) assertWellFormed(transaction);
    const outcomes: CommitOutcome[] = new Array(transactions.length);
    let isPartlyCommitted = false;
    for (const indexes of indexesByTenant(transactions)) {
      try {
        const part = await this.commitTenant(indexes.map((index) => transactions[index] as Transaction));
        for (const [at, index] of indexes.entries()) outcomes[index] = part[at] as CommitOutcome;
        isPartlyCommitted = true;
      } catch (error) {
        const isPartial = isPartlyCommitted && error instanceof StoreUnavailable;
        throw isPartial ? new StoreUncertain(error.message) : error;
      }
    }
    return outcomes;
  }

  async heads(project: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    if (subjects.length === 0) return [];
    const stored = await this.connection.send(['HMGET', this.keys.heads(project), ...subjects]);
    return (stored as (string | null)[]).map(headFromStored);
  }

  /** Redis orders by UTF-8 bytes: code-unit order, except for subjects with characters beyond U+FFFF. */
  async scanHeads(project: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    const from = page.after === null ? '-' : `(${page.after}`;
    const stored = await this.connection.run(
      SCAN_HEADS_SCRIPT,
      [this.keys.project(project)],
      [from, String(page.limit)],
    );
    return (stored as string[]).map((text) => headFromStored(text) as StoredHead);
  }

  async events(project: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    const matches = matcher(query);
    const found: EventEnvelope[] = [];
    for (let after = query.after; found.length < query.limit; ) {
      const page = await this.eventsPage(project, { ...query, after });
      for (const event of page.events) {
        if (found.length < query.limit && matches(event)) found.push(event);
      }
      if (page.isLast) break;
      after = page.scannedTo;
    }
    return found;
  }

  async redact(project: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    if (events.length === 0) return;
    const texts = events.flatMap(({ position, ...event }) => [String(position), JSON.stringify(event)]);
    await this.connection.send(['HSET', this.keys.events(project), ...texts]);
  }

  async project(project: ProjectKey): Promise<ProjectRow | null> {
    const row = await this.connection.send(['HMGET', this.keys.project(project), 'position', 'rules_seq']);
    const [position, rulesSeq] = row as (string | null)[];
    return position == null ? null : { position: Number(position), rules_seq: Number(rulesSeq) };
  }

  async projects(tenantId: string): Promise<string[]> {
    const names = await this.connection.send(['SMEMBERS', this.keys.projects(tenantId)]);
    return (names as string[]).sort();
  }

  async countPermits(tenantId: string, scope: string): Promise<number> {
    const keys = [this.keys.tenant(tenantId), this.keys.permits(tenantId, scope)];
    return (await this.connection.run(COUNT_PERMITS_SCRIPT, keys, [])) as number;
  }

  async now(): Promise<number> {
    const [seconds, micros] = (await this.connection.send(['TIME'])) as [string, string];
    this.advanceClock(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000));
    return this.latestMs;
  }

  async meta(): Promise<StoreMeta> {
    return this.identity.meta as StoreMeta;
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private async commitTenant(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const { tenant_id } = transactions[0] as Transaction;
    const keys = [this.keys.tenant(tenant_id), this.keys.batch(tenant_id, randomUUID())];
    const lineage = this.options.profile === 'ha' ? this.identity.replication_id : '';
    const args = encodeBatch(this.keys, transactions, lineage);
    const outcomes = decodeOutcomes(
      await this.retryUntilAnswered(() => this.connection.runOnce(COMMIT_SCRIPT, keys, args)),
      transactions,
    );
    this.advanceClock(outcomes.at(-1)?.now_ms ?? 0);
    return outcomes;
  }

  /**
   * Retries while the reply is lost. The batch's id makes that safe: a batch that was applied is reported, not
   * repeated. As long as nothing was sent, the first failure is final: nothing happened.
   */
  private async retryUntilAnswered(send: () => Promise<unknown>): Promise<unknown> {
    const untilMs = performance.now() + RETRY_MS;
    for (let sent = false; ; ) {
      try {
        return await send();
      } catch (error) {
        sent ||= error instanceof ReplyLost;
        if (!sent || error instanceof StoreBroken) throw error;
        if (performance.now() > untilMs) {
          throw new StoreUncertain(`Redis did not say what became of a commit: ${(error as Error).message}`);
        }
      }
      await pause(PAUSE_MS * (0.5 + Math.random()));
    }
  }

  private async eventsPage(project: ProjectKey, query: EventQuery): Promise<RedisEventsPage> {
    const args = [
      String(query.after),
      String(query.until_position ?? Number.MAX_SAFE_INTEGER),
      String(query.limit),
      String(query.since === undefined ? -FOREVER_MS : msOf(query.since)),
      String(query.until === undefined ? FOREVER_MS : msOf(query.until)),
      JSON.stringify(filtersOf(query)),
    ];
    const reply = await this.connection.run(EVENTS_SCRIPT, [this.keys.project(project)], args);
    const [scannedTo, isLast, ...rest] = reply as [number, number, ...(number | string)[]];
    const events: EventEnvelope[] = [];
    for (let at = 0; at < rest.length; at += 2) {
      events.push({ position: rest[at] as number, ...JSON.parse(rest[at + 1] as string) });
    }
    return { scannedTo, isLast: isLast === 1, events };
  }

  private advanceClock(nowMs: number): void {
    this.latestMs = Math.max(this.latestMs, nowMs);
  }
}

function indexesByTenant(transactions: readonly Transaction[]): Iterable<number[]> {
  const tenants = new Map<string, number[]>();
  for (const [index, { tenant_id }] of transactions.entries()) {
    const indexes = tenants.get(tenant_id);
    if (indexes === undefined) tenants.set(tenant_id, [index]);
    else indexes.push(index);
  }
  return tenants.values();
}

interface RedisEventsPage {
  readonly events: readonly EventEnvelope[];
  /** All positions up to this one were searched. */
  readonly scannedTo: number;
  readonly isLast: boolean;
}

/** For each filter, the index values that cover its events. */
function filtersOf(query: EventQuery): string[][] {
  const filters: string[][] = [];
  if (query.types !== undefined)
    filters.push([...new Set(query.types)].map((type) => TYPE_INDEX_PREFIX + type));
  for (const field of Object.keys(INDEX_PREFIX) as (keyof typeof INDEX_PREFIX)[]) {
    const value = query[field];
    if (value === undefined) continue;
    // Events on a task's own head are indexed under their subject only.
    filters.push(
      field === 'task_id'
        ? [INDEX_PREFIX.task_id + value, INDEX_PREFIX.subject + value]
        : [INDEX_PREFIX[field] + value],
    );
  }
  return filters;
}

function capabilitiesOf({ profile }: RedisOptions): StoreCapabilities {
  const common = { name: 'redis', clock: 'store', single_writer: false, commits_at_once: 2 } as const;
  if (profile === 'durable') return { ...common, durable: true };
  return {
    ...common,
    durable: false,
    note: 'Work acknowledged last may be lost when a server restarts or a replica takes over; the incarnation is raised then, and older handles are refused.',
  };
}

export async function openRedisMigrator(options: RedisOptions): Promise<Migrator> {
  return new RedisMigrator(await RedisConnection.open(options), new RedisKeys(options.namespace));
}

class RedisMigrator implements Migrator {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
  ) {}

  async status(): Promise<{ found: number; wanted: number }> {
    const version = (await this.connection.send(['HGET', this.keys.meta, 'version'])) as string | null;
    return { found: Number(version ?? 0), wanted: SCHEMA_VERSION };
  }

  async pending(): Promise<readonly MigrationStep[]> {
    const { found } = await this.status();
    if (found > SCHEMA_VERSION) throw newerSchemaError(found);
    return stepsAfter(found, this.keys);
  }

  async up(): Promise<readonly MigrationStep[]> {
    const taken: MigrationStep[] = [];
    for (const step of await this.pending()) {
      const secret = randomBytes(32).toString('hex');
      if ((await this.connection.run(migrationScript(step), [this.keys.meta], [secret])) === 1)
        taken.push(step);
    }
    return taken;
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}
