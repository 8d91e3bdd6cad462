import type { EventEnvelope } from '../../core/events/envelope.js';
import { type ProcessClock, SteadyClock, systemClock } from '../clock.js';
import type { Migrator } from '../migrator.js';
import {
  type EventQuery,
  type Outcome,
  type ProjectKey,
  type ProjectRow,
  type Store,
  type StoreCapabilities,
  type StoredHead,
  type StoreMeta,
  StoreRefused,
  StoreUnavailable,
  StoreUncertain,
  type Unit,
} from '../store.js';
import { DynamodbBlobs } from './blobs.js';
import { Committer, type Patience } from './committer.js';
import type { DynamodbOptions } from './configuration.js';
import { Dynamo } from './dynamo.js';
import { opening } from './errors.js';
import { Feed } from './feed.js';
import { Forgetting } from './forgetting.js';
import { headOf } from './items.js';
import {
  headKey,
  headsPart,
  type Item,
  META_KEY,
  numberOf,
  projectPart,
  projectsPart,
  S,
  SHARDS,
  textOf,
} from './keys.js';
import { inOrder } from './merge.js';
import { DynamodbMigrator, newerSchema } from './migrator.js';
import { Places } from './places.js';
import { SCHEMA_VERSION } from './schema.js';

/** Projects whose state is remembered between commits; remembering only saves a read. */
const COMMITTERS_MAX = 10_000;
const SCAN_PAGE_MIN = 4;

export async function openDynamodbStore(
  options: DynamodbOptions,
  clock: ProcessClock = systemClock,
): Promise<DynamodbStore> {
  const steady = new SteadyClock(clock);
  const dynamo = await Dynamo.connect(options, () => steady.now());
  try {
    return await opening(whereOf(options), async () => {
      const migrator = new DynamodbMigrator(dynamo);
      const { found } = await migrator.status();
      if (found === 0) {
        throw new StoreRefused(
          `There are no tables ${options.namespace}-* in ${whereOf(options)}. Run: gen migrate --store URL`,
        );
      }
      if (found > SCHEMA_VERSION) throw newerSchema(found);
      const meta = await dynamo.get(dynamo.tables.state, META_KEY);
      const { contention_ms } = options;
      const patience = { contention_ms, monotonicMs: () => clock.monotonicMs() };
      return new DynamodbStore(dynamo, steady, metaOf(meta as Item), patience);
    });
  } catch (error) {
    dynamo.close();
    throw error;
  }
}

export async function openDynamodbMigrator(options: DynamodbOptions): Promise<Migrator> {
  const dynamo = await Dynamo.connect(options, Date.now);
  return new DynamodbMigrator(dynamo);
}

const whereOf = ({ region, endpoint }: DynamodbOptions): string => endpoint ?? `DynamoDB in ${region}`;

/** Units before these have been committed: it is no longer true that nothing happened. */
function afterOthers(error: unknown): never {
  if (error instanceof StoreUnavailable) throw new StoreUncertain(error.message);
  throw error;
}

const metaOf = (item: Item): StoreMeta => ({
  incarnation: numberOf(item.incarnation),
  secret: textOf(item.secret),
});

export class DynamodbStore implements Store {
  readonly capabilities: StoreCapabilities = {
    name: 'dynamodb',
    clock: 'coordinator',
    single_writer: false,
    commits_at_once: 1,
    durable: true,
    note:
      'One transaction at a time per project, of about twenty commands: the rate scales by projects. Time is the ' +
      "coordinator's, read before the transaction is sent: keep clocks together and set a margin for takeovers.",
  };
  readonly blobs: DynamodbBlobs;
  private readonly places: Places;
  private readonly committers = new Map<string, Committer>();

  constructor(
    private readonly dynamo: Dynamo,
    private readonly clock: SteadyClock,
    private readonly store_meta: StoreMeta,
    private readonly patience: Patience,
  ) {
    this.blobs = new DynamodbBlobs(dynamo);
    this.places = new Places(dynamo);
  }

  /** Units of one project that follow each other go together; the order of all of them is kept. */
  async commit(units: readonly Unit[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    while (outcomes.length < units.length) {
      const first = units[outcomes.length] as Unit;
      const rest = units.slice(outcomes.length);
      const end = rest.findIndex((unit) => projectPart(unit) !== projectPart(first));
      const run = end === -1 ? rest : rest.slice(0, end);
      const work = this.committer(first).commit(run);
      outcomes.push(...(await (outcomes.length === 0 ? work : work.catch(afterOthers))));
    }
    return outcomes;
  }

  async heads(project: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    const keys = [...new Set(subjects)].map((subject) => headKey(project, subject));
    const items = await this.dynamo.getAll(this.dynamo.tables.state, keys);
    const heads = new Map<string, StoredHead>();
    for (const item of items) heads.set(textOf(item.sk), await headOf(item, this.blobs, project.tenant_id));
    return subjects.map((subject) => heads.get(subject) ?? null);
  }

  async scanHeads(project: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    const size = Math.max(SCAN_PAGE_MIN, Math.ceil((page.limit * 2) / SHARDS.length));
    const shards = SHARDS.map((shard) => this.headPages(headsPart(project, shard), page.after, size));
    const heads: StoredHead[] = [];
    for await (const item of inOrder(shards, (a, b) => textOf(a.sk) < textOf(b.sk))) {
      if (heads.length === page.limit) break;
      heads.push(await headOf(item, this.blobs, project.tenant_id));
    }
    return heads;
  }

  events(project: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return this.feed(project).events(query, this.clock.now());
  }

  forget(project: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    return new Forgetting(this.dynamo, this.blobs, project).forget(events);
  }

  async project(project: ProjectKey): Promise<ProjectRow | null> {
    const state = await this.feed(project).state();
    return state === null ? null : { position: state.position, rules_seq: state.rules_seq };
  }

  async projects(tenant_id: string): Promise<string[]> {
    const items = await this.dynamo.all({
      TableName: this.dynamo.tables.state,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': S(projectsPart(tenant_id)) },
    });
    return items.map((item) => textOf(item.project_id)).sort();
  }

  occupancy(tenant_id: string, scope: string): Promise<number> {
    return this.places.occupancy(tenant_id, scope, this.clock.now());
  }

  async now(): Promise<number> {
    return this.clock.now();
  }

  async meta(): Promise<StoreMeta> {
    return this.store_meta;
  }

  async close(): Promise<void> {
    this.dynamo.close();
  }

  private headPages(pk: string, after: string | null, size: number): AsyncGenerator<Item[]> {
    return this.dynamo.pages({
      TableName: this.dynamo.tables.state,
      KeyConditionExpression: after === null ? 'pk = :pk' : 'pk = :pk AND sk > :after',
      ExpressionAttributeValues: { ':pk': S(pk), ...(after === null ? {} : { ':after': S(after) }) },
      Limit: size,
    });
  }

  private feed(project: ProjectKey): Feed {
    return new Feed(this.dynamo, this.blobs, project);
  }

  private committer(project: ProjectKey): Committer {
    const name = projectPart(project);
    const known = this.committers.get(name);
    if (known !== undefined) return known;
    if (this.committers.size >= COMMITTERS_MAX) this.forgetIdle();
    const { tenant_id, project_id } = project;
    const key = { tenant_id, project_id };
    const made = new Committer(key, this.dynamo, this.blobs, this.places, this.clock, this.patience);
    this.committers.set(name, made);
    return made;
  }

  private forgetIdle(): void {
    for (const [name, committer] of this.committers) if (committer.idle) this.committers.delete(name);
  }
}
