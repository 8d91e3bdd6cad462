import type { EventEnvelope } from '../../core/events/envelope.js';
import { lineOf } from '../event-line.js';
import { assertSchemaVersion } from '../migrator.js';
import {
  type CommitOutcome,
  type EventQuery,
  type ProjectKey,
  type ProjectRow,
  type ProjectsWithPermitsPage,
  type Store,
  type StoreBroken,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  type Transaction,
  withRaisedIncarnation,
} from '../store.js';
import { RedisBlobs } from './blobs.js';
import { RedisCommitter } from './commit.js';
import { type OnConnected, RedisConnection } from './connection.js';
import { HistoryLost } from './errors.js';
import { readEvents } from './events.js';
import { headFromText } from './head-text.js';
import { RedisKeys } from './keys.js';
import type { RedisOptions } from './options.js';
import { RedisProjectsWithPermits } from './projects-with-permits.js';
import { IDENTIFY_SCRIPT, migrationSteps, SCHEMA } from './schema.js';
import { readScript } from './script.js';

export { openRedisMigrator } from './migrator.js';

const SCAN_HEADS_SCRIPT = readScript(new URL('./scan-heads.lua', import.meta.url));
const REDACT_SCRIPT = readScript(new URL('./redact.lua', import.meta.url));
const RAISE_INCARNATION_SCRIPT = readScript(new URL('./raise-incarnation.lua', import.meta.url));
const COUNT_PERMITS_SCRIPT = readScript(new URL('./count-permits.lua', import.meta.url));

export async function openRedisStore(options: RedisOptions): Promise<RedisStore> {
  const identity = new ServerIdentity(options);
  const connection = await RedisConnection.open(options, identity.verify);
  return new RedisStore(options, connection, identity);
}

/** The identity of the store, checked on each new connection: a server that may have lost history is not the same store. */
class ServerIdentity {
  meta: StoreMeta | null = null;
  replication_id = '';

  constructor(private readonly options: RedisOptions) {}

  readonly verify: OnConnected = async ({ replication_id, isPromoted }, run) => {
    const canLoseHistory = this.options.profile === 'ha' || isPromoted;
    const { meta } = new RedisKeys(this.options.namespace);
    const reply = await run(IDENTIFY_SCRIPT, [meta], [replication_id, canLoseHistory ? '1' : '0']);
    const [version, secret, incarnation] = reply as [number, string, number];
    if (this.meta === null) {
      assertSchemaVersion(SCHEMA, version, migrationSteps(meta));
      this.meta = { incarnation, secret };
    } else if (this.meta.secret !== secret || this.meta.incarnation !== incarnation) {
      throw new HistoryLost();
    }
    this.replication_id = replication_id;
  };
}

/**
 * A store for any number of coordinators on one primary. A script decides and writes each batch, and Redis runs one script
 * at a time.
 */
export class RedisStore implements Store {
  readonly capabilities: StoreCapabilities;
  readonly blobs: RedisBlobs;
  readonly broken: Promise<StoreBroken>;
  private readonly keys: RedisKeys;
  private readonly committer: RedisCommitter;
  private readonly permitProjectFinder: RedisProjectsWithPermits;
  private latestMs = 0;

  constructor(
    options: RedisOptions,
    private readonly connection: RedisConnection,
    private readonly identity: ServerIdentity,
  ) {
    this.keys = new RedisKeys(options.namespace);
    this.blobs = new RedisBlobs(connection, this.keys);
    const lineage = () => (options.profile === 'ha' ? identity.replication_id : '');
    this.committer = new RedisCommitter(connection, this.keys, lineage);
    this.permitProjectFinder = new RedisProjectsWithPermits(connection, this.keys);
    this.broken = connection.broken;
    this.capabilities = capabilitiesOf(options);
  }

  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    await this.permitProjectFinder.addTenants(transactions);
    const outcomes = await this.committer.commit(transactions);
    for (const { now_ms } of outcomes) this.latestMs = Math.max(this.latestMs, now_ms);
    return outcomes;
  }

  async heads(projectKey: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    if (subjects.length === 0) return [];
    const headTexts = await this.connection.send(['HMGET', this.keys.heads(projectKey), ...subjects]);
    return (headTexts as (string | null)[]).map((text) => (text === null ? null : headFromText(text)));
  }

  /** Redis orders by UTF-8 bytes: code-unit order, except for subjects with characters beyond U+FFFF. */
  async scanHeads(
    projectKey: ProjectKey,
    page: { after: string | null; limit: number },
  ): Promise<StoredHead[]> {
    const from = page.after === null ? '-' : `(${page.after}`;
    const headTexts = await this.connection.run(
      SCAN_HEADS_SCRIPT,
      [this.keys.project(projectKey)],
      [from, String(page.limit)],
    );
    return (headTexts as string[]).map(headFromText);
  }

  events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return readEvents(this.connection, projectKey, this.keys.project(projectKey), query);
  }

  async redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    if (events.length === 0) return;
    const args = events.flatMap(({ position, ...event }) => [String(position), lineOf(event)]);
    await this.connection.run(REDACT_SCRIPT, [this.keys.project(projectKey)], args);
  }

  async project(projectKey: ProjectKey): Promise<ProjectRow | null> {
    const row = await this.connection.send(['HMGET', this.keys.project(projectKey), 'position', 'rules_seq']);
    const [position, rulesSeq] = row as (string | null)[];
    return position == null ? null : { position: Number(position), rules_seq: Number(rulesSeq) };
  }

  async projects(tenantId: string): Promise<string[]> {
    const projectIds = await this.connection.send(['SMEMBERS', this.keys.projects(tenantId)]);
    return (projectIds as string[]).sort();
  }

  async countPermits(tenantId: string, scope: string): Promise<number> {
    return (await this.connection.run(COUNT_PERMITS_SCRIPT, [this.keys.tenant(tenantId)], [scope])) as number;
  }

  tenantIds(): Promise<string[]> {
    return this.permitProjectFinder.tenantIds();
  }

  projectsWithPermits(page: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    return this.permitProjectFinder.page(page);
  }

  async now(): Promise<number> {
    const [seconds, micros] = (await this.connection.send(['TIME'])) as [string, string];
    const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    this.latestMs = Math.max(this.latestMs, nowMs);
    return this.latestMs;
  }

  async meta(): Promise<StoreMeta> {
    return this.identity.meta as StoreMeta;
  }

  async raiseIncarnation(incarnation: number): Promise<StoreMeta> {
    const raisedIncarnation = await this.connection.run(
      RAISE_INCARNATION_SCRIPT,
      [this.keys.meta],
      [String(incarnation)],
    );
    this.identity.meta = withRaisedIncarnation(await this.meta(), raisedIncarnation as number);
    return this.meta();
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

const HA_NOTE =
  'The last acknowledged commits may be lost when a server restarts or a replica takes over; the incarnation is then raised, and older handles are refused.';

const capabilitiesOf = ({ profile }: RedisOptions): StoreCapabilities => ({
  name: 'redis',
  clock: 'store',
  single_writer: false,
  commits_at_once: 2,
  durable: profile === 'durable',
  ...(profile === 'durable' ? {} : { note: HA_NOTE }),
});
