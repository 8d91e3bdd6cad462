import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Blobs } from '../blobs.js';
import type {
  CommitOutcome,
  EventQuery,
  ProjectKey,
  ProjectRow,
  ProjectsWithPermitsPage,
  Store,
  StoreCapabilities,
  StoredHead,
  StoreMeta,
  Transaction,
} from '../store.js';

/** A row. The drivers return different types of values, so they are read with `Number` and `String`. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** What the stores of PostgreSQL and MySQL share: most reads, with the statements of the database's own queries.sql. */
export abstract class SqlStore implements Store {
  abstract readonly capabilities: StoreCapabilities;
  abstract readonly blobs: Blobs;
  /** The latest time reported. No later report is less, even if the server's clock is set back or the server replaced. */
  protected latestMs = 0;

  protected abstract commitBatch(transactions: readonly Transaction[]): Promise<CommitOutcome[]>;
  /** Runs a named statement with `names`, then `values`, as parameters. Without `names`, the statement concerns no tenant. */
  protected abstract query(
    statement: string,
    names?: readonly [tenantId: string, ...names: string[]] | null,
    ...values: number[]
  ): Promise<readonly SqlRow[]>;
  /** The heads that exist, in any order. */
  protected abstract headRows(
    projectKey: ProjectKey,
    subjects: readonly string[],
  ): Promise<readonly SqlRow[]>;
  protected abstract nameFromColumn(column: unknown): string;

  abstract events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]>;
  abstract redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void>;
  abstract close(): Promise<void>;

  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    if (transactions.length === 0) return [];
    const outcomes = await this.commitBatch(transactions);
    for (const { now_ms } of outcomes) this.latestMs = Math.max(this.latestMs, now_ms);
    return outcomes;
  }

  async heads(projectKey: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    if (subjects.length === 0) return [];
    const heads = (await this.headRows(projectKey, subjects)).map(headOf);
    const headBySubject = new Map(heads.map((head) => [head.subject, head]));
    return subjects.map((subject) => headBySubject.get(subject) ?? null);
  }

  async scanHeads(
    { tenant_id, project_id }: ProjectKey,
    { after, limit }: { after: string | null; limit: number },
  ): Promise<StoredHead[]> {
    const rows = await this.query('scan_heads', [tenant_id, project_id, after ?? ''], Math.floor(limit));
    return rows.map(headOf);
  }

  async project({ tenant_id, project_id }: ProjectKey): Promise<ProjectRow | null> {
    const [row] = await this.query('project', [tenant_id, project_id]);
    return row === undefined ? null : { position: Number(row.position), rules_seq: Number(row.rules_seq) };
  }

  async projects(tenantId: string): Promise<string[]> {
    const rows = await this.query('projects', [tenantId]);
    return rows.map(({ project_id }) => this.nameFromColumn(project_id));
  }

  async tenantIds(): Promise<string[]> {
    const rows = await this.query('tenants');
    return rows.map(({ tenant_id }) => this.nameFromColumn(tenant_id));
  }

  abstract projectsWithPermits(page: ProjectsWithPermitsPage): Promise<ProjectKey[]>;

  protected projectsOf(rows: readonly SqlRow[]): ProjectKey[] {
    return rows.map(({ tenant_id, project_id }) => ({
      tenant_id: this.nameFromColumn(tenant_id),
      project_id: this.nameFromColumn(project_id),
    }));
  }

  async countPermits(tenantId: string, scope: string): Promise<number> {
    const [row] = await this.query('count_permits', [tenantId, scope], this.latestMs);
    return Number(row?.live ?? 0);
  }

  async now(): Promise<number> {
    const [row] = await this.query('now');
    this.latestMs = Math.max(this.latestMs, Number(row?.now_ms));
    return this.latestMs;
  }

  async meta(): Promise<StoreMeta> {
    const [row] = await this.query('meta');
    return { incarnation: Number(row?.incarnation), secret: String(row?.secret) };
  }

  async raiseIncarnation(incarnation: number): Promise<StoreMeta> {
    await this.query('raise_incarnation', null, incarnation);
    return this.meta();
  }
}

const headOf = ({ head }: SqlRow): StoredHead => JSON.parse(String(head));
