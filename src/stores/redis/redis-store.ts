import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { matcher } from '../matches.js';
import type { MigrationStep, Migrator } from '../migrator.js';
import {
  type EventQuery,
  type Outcome,
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
  type Unit,
} from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { decodeOutcomes, encodeBatch, headOf } from './batch.js';
import { RedisBlobs } from './blobs.js';
import { COMMIT, FOREVER_MS } from './commit-script.js';
import type { RedisOptions } from './configuration.js';
import { historyLost, ReplyLost } from './errors.js';
import { INDEXED, Keys, TYPE_INDEX } from './keys.js';
import { type FreshLink, Link } from './link.js';
import { EVENTS, OCCUPANCY, SCAN_HEADS } from './read-scripts.js';
import { ATTEND, migrationScript, SCHEMA_VERSION, stepsAfter } from './schema.js';
import type { Server } from './server.js';

/** How long a commit whose answer was lost is asked for again. */
const ASKED_AGAIN_MS = 10_000;
const PAUSE_MS = 100;

export async function openRedisStore(options: RedisOptions): Promise<RedisStore> {
  const attendance = new Attendance(options);
  const link = await Link.open(options, (server, fresh) => attendance.attend(server, fresh));
  attendance.onLoss = (error) => link.finish(error);
  return new RedisStore(options, link, attendance);
}

/** Who the store is, asked on every new connection: a server on which history may have been lost is another store. */
class Attendance {
  meta: StoreMeta | null = null;
  replication_id = '';
  onLoss: (error: StoreBroken) => void = () => {};
  private readonly keys: Keys;

  constructor(private readonly options: RedisOptions) {
    this.keys = new Keys(options.namespace);
  }

  async attend({ replication_id, promoted }: Server, fresh: FreshLink): Promise<void> {
    const loses = this.options.profile === 'ha' || promoted;
    const reply = await fresh.run(ATTEND, [this.keys.meta], [replication_id, loses ? '1' : '0']);
    const [version, secret, incarnation] = reply as [number, string, number];
    if (this.meta === null) {
      if (version !== SCHEMA_VERSION) throw wrongVersion(version);
      this.meta = { incarnation, secret };
    } else if (this.meta.secret !== secret || this.meta.incarnation !== incarnation) {
      const lost = historyLost();
      this.onLoss(lost);
      throw lost;
    }
    this.replication_id = replication_id;
  }
}

function wrongVersion(found: number): StoreRefused {
  if (found > SCHEMA_VERSION) return newerSchema(found);
  return new StoreRefused(
    `This Redis holds no Genesis Fleet of version ${SCHEMA_VERSION} yet. Run: gen migrate --store URL`,
  );
}

const newerSchema = (found: number): StoreRefused =>
  new StoreRefused(
    `The data in this Redis has version ${found}, which is newer than this program: update genesis-fleet.`,
  );

/** Any number of coordinators over one primary: every commit is one script, and Redis runs one script at a time. */
export class RedisStore implements Store {
  readonly capabilities: StoreCapabilities;
  readonly blobs: RedisBlobs;
  readonly finished: Promise<StoreBroken>;
  private readonly keys: Keys;
  private latest_ms = 0;

  constructor(
    private readonly options: RedisOptions,
    private readonly link: Link,
    private readonly attendance: { readonly meta: StoreMeta | null; readonly replication_id: string },
  ) {
    this.keys = new Keys(options.namespace);
    this.blobs = new RedisBlobs(link, this.keys);
    this.finished = link.finished;
    this.capabilities = capabilitiesOf(options);
  }

  /** One script for each tenant, since their keys may be on different nodes: mostly there is one. */
  async commit(units: readonly Unit[]): Promise<Outcome[]> {
    for (const unit of units) assertWellFormed(unit);
    const outcomes: Outcome[] = new Array(units.length);
    let some_happened = false;
    for (const indexes of indexesByTenant(units)) {
      try {
        const part = await this.commitTenant(indexes.map((index) => units[index] as Unit));
        for (const [at, index] of indexes.entries()) outcomes[index] = part[at] as Outcome;
        some_happened = true;
      } catch (error) {
        const isHalf = some_happened && error instanceof StoreUnavailable;
        throw isHalf ? new StoreUncertain(error.message) : error;
      }
    }
    return outcomes;
  }

  async heads(project: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    if (subjects.length === 0) return [];
    const kept = await this.link.send(['HMGET', this.keys.heads(project), ...subjects]);
    return (kept as (string | null)[]).map(headOf);
  }

  /** Redis orders by the bytes of UTF-8: the order of code units, but for subjects with characters beyond U+FFFF. */
  async scanHeads(project: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    const from = page.after === null ? '-' : `(${page.after}`;
    const kept = await this.link.run(SCAN_HEADS, [this.keys.project(project)], [from, String(page.limit)]);
    return (kept as string[]).map((text) => headOf(text) as StoredHead);
  }

  async events(project: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    const matches = matcher(query);
    const found: EventEnvelope[] = [];
    for (let after = query.after; found.length < query.limit; ) {
      const page = await this.eventsPage(project, { ...query, after });
      for (const event of page.events) {
        if (found.length < query.limit && matches(event)) found.push(event);
      }
      if (page.ends) break;
      after = page.looked_at;
    }
    return found;
  }

  async forget(project: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    if (events.length === 0) return;
    const texts = events.flatMap(({ position, ...event }) => [String(position), JSON.stringify(event)]);
    await this.link.send(['HSET', this.keys.events(project), ...texts]);
  }

  async project(project: ProjectKey): Promise<ProjectRow | null> {
    const row = await this.link.send(['HMGET', this.keys.project(project), 'position', 'rules_seq']);
    const [position, rules_seq] = row as (string | null)[];
    return position == null ? null : { position: Number(position), rules_seq: Number(rules_seq) };
  }

  async projects(tenant_id: string): Promise<string[]> {
    const names = await this.link.send(['SMEMBERS', this.keys.projects(tenant_id)]);
    return (names as string[]).sort();
  }

  async occupancy(tenant_id: string, scope: string): Promise<number> {
    const keys = [this.keys.tenant(tenant_id), this.keys.slots(tenant_id, scope)];
    return (await this.link.run(OCCUPANCY, keys, [])) as number;
  }

  async now(): Promise<number> {
    const [seconds, micros] = (await this.link.send(['TIME'])) as [string, string];
    this.tell(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000));
    return this.latest_ms;
  }

  async meta(): Promise<StoreMeta> {
    return this.attendance.meta as StoreMeta;
  }

  close(): Promise<void> {
    return this.link.close();
  }

  private async commitTenant(units: readonly Unit[]): Promise<Outcome[]> {
    const { tenant_id } = units[0] as Unit;
    const keys = [this.keys.tenant(tenant_id), this.keys.batch(tenant_id, randomUUID())];
    const lineage = this.options.profile === 'ha' ? this.attendance.replication_id : '';
    const args = encodeBatch(this.keys, units, lineage);
    const outcomes = decodeOutcomes(await this.once(() => this.link.attempt(COMMIT, keys, args)), units);
    this.tell(outcomes.at(-1)?.now_ms ?? 0);
    return outcomes;
  }

  /**
   * Asks again while the answer is lost, which the batch's id makes harmless: whatever was done is told, not repeated.
   * As long as nothing was sent, one failure is the answer: nothing happened.
   */
  private async once(attempt: () => Promise<unknown>): Promise<unknown> {
    const until_ms = performance.now() + ASKED_AGAIN_MS;
    for (let sent = false; ; ) {
      try {
        return await attempt();
      } catch (error) {
        sent ||= error instanceof ReplyLost;
        if (!sent || error instanceof StoreBroken) throw error;
        if (performance.now() > until_ms) {
          throw new StoreUncertain(`Redis did not say what became of a commit: ${(error as Error).message}`);
        }
      }
      await pause(PAUSE_MS * (0.5 + Math.random()));
    }
  }

  private async eventsPage(project: ProjectKey, query: EventQuery): Promise<EventsPage> {
    const args = [
      String(query.after),
      String(query.until_position ?? Number.MAX_SAFE_INTEGER),
      String(query.limit),
      String(query.since === undefined ? -FOREVER_MS : msOf(query.since)),
      String(query.until === undefined ? FOREVER_MS : msOf(query.until)),
      JSON.stringify(filtersOf(query)),
    ];
    const reply = await this.link.run(EVENTS, [this.keys.project(project)], args);
    const [looked_at, ends, ...rest] = reply as [number, number, ...(number | string)[]];
    const events: EventEnvelope[] = [];
    for (let at = 0; at < rest.length; at += 2) {
      events.push({ position: rest[at] as number, ...JSON.parse(rest[at + 1] as string) });
    }
    return { looked_at, ends: ends === 1, events };
  }

  private tell(now_ms: number): void {
    this.latest_ms = Math.max(this.latest_ms, now_ms);
  }
}

function indexesByTenant(units: readonly Unit[]): Iterable<number[]> {
  const tenants = new Map<string, number[]>();
  for (const [index, { tenant_id }] of units.entries()) {
    const indexes = tenants.get(tenant_id);
    if (indexes === undefined) tenants.set(tenant_id, [index]);
    else indexes.push(index);
  }
  return tenants.values();
}

interface EventsPage {
  readonly events: readonly EventEnvelope[];
  /** All positions up to this one have been looked at. */
  readonly looked_at: number;
  readonly ends: boolean;
}

/** For each filter the index values among which its events are. */
function filtersOf(query: EventQuery): string[][] {
  const filters: string[][] = [];
  if (query.types !== undefined) filters.push([...new Set(query.types)].map((type) => TYPE_INDEX + type));
  for (const field of Object.keys(INDEXED) as (keyof typeof INDEXED)[]) {
    const value = query[field];
    if (value === undefined) continue;
    // Events of a task's own head are kept under their subject alone.
    filters.push(
      field === 'task_id' ? [INDEXED.task_id + value, INDEXED.subject + value] : [INDEXED[field] + value],
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
  return new RedisMigrator(await Link.open(options), new Keys(options.namespace));
}

class RedisMigrator implements Migrator {
  constructor(
    private readonly link: Link,
    private readonly keys: Keys,
  ) {}

  async status(): Promise<{ found: number; wanted: number }> {
    const version = (await this.link.send(['HGET', this.keys.meta, 'version'])) as string | null;
    return { found: Number(version ?? 0), wanted: SCHEMA_VERSION };
  }

  async pending(): Promise<readonly MigrationStep[]> {
    const { found } = await this.status();
    if (found > SCHEMA_VERSION) throw newerSchema(found);
    return stepsAfter(found, this.keys);
  }

  async up(): Promise<readonly MigrationStep[]> {
    const taken: MigrationStep[] = [];
    for (const step of await this.pending()) {
      const secret = randomBytes(32).toString('hex');
      if ((await this.link.run(migrationScript(step), [this.keys.meta], [secret])) === 1) taken.push(step);
    }
    return taken;
  }

  close(): Promise<void> {
    return this.link.close();
  }
}
