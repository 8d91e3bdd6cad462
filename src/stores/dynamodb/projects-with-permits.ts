import { pageOfProjects } from '../project-order.js';
import type { ProjectKey, ProjectsWithPermitsPage, Transaction } from '../store.js';
import type { DynamoClient } from './connection.js';
import {
  type DynamoItem,
  ENDED_PERMITS,
  N,
  numberOf,
  PERMITS_ON_HEADS_PARTITION,
  S,
  SCOPE_ON_HEADS,
  scopeOnHeadsKey,
  sharesPartition,
  textOf,
  unescapeName,
} from './keys.js';

/** How long a project is listed after ended permits were removed: by then, a coordinator has handled them. */
const ENDED_LISTED_MS = 24 * 3600 * 1000;

interface ScopeOnHeads {
  readonly tenant_id: string;
  readonly scope: string;
}

/**
 * Finds the projects that hold permits on heads. A project's share of a scope has the number of its permits. Each
 * process lists a scope before it commits its first permit in that scope.
 */
export class DynamodbProjectsWithPermits {
  private readonly listedScopes = new Set<string>();

  constructor(private readonly dynamo: DynamoClient) {}

  /** Lists the scopes in which the transactions have permits on heads. */
  async addScopes(transactions: readonly Transaction[]): Promise<void> {
    for (const { tenant_id, permits } of transactions) {
      for (const { scope, on_head } of permits) {
        if (on_head !== true || this.isOnHeads(tenant_id, scope)) continue;
        await this.dynamo.putNew(this.dynamo.tables.state, scopeOnHeadsKey(tenant_id, scope));
        this.listedScopes.add(nameOf(tenant_id, scope));
      }
    }
  }

  /** Whether the permits of this scope are on heads, as far as this process knows: true after it has listed the scope. */
  isOnHeads(tenantId: string, scope: string): boolean {
    return this.listedScopes.has(nameOf(tenantId, scope));
  }

  /** The tenants that ever had a permit on a head, sorted by name. */
  async tenantIds(): Promise<string[]> {
    const items = await this.dynamo.partition(this.dynamo.tables.state, PERMITS_ON_HEADS_PARTITION);
    return [...new Set(scopesIn(items).map(({ tenant_id }) => tenant_id))].sort();
  }

  /** Ordered by tenant, then by project. */
  async page({ after, limit }: ProjectsWithPermitsPage, nowMs: number): Promise<ProjectKey[]> {
    const items = await this.dynamo.partition(this.dynamo.tables.state, PERMITS_ON_HEADS_PARTITION);
    const ended = endedIn(items, nowMs);
    const scopes = scopesIn(items)
      .filter(({ tenant_id }) => after === null || tenant_id >= after.tenant_id)
      .sort((a, b) => (a.tenant_id < b.tenant_id ? -1 : 1));
    const projectByName = new Map(
      ended.map((projectKey) => [nameOf(projectKey.tenant_id, projectKey.project_id), projectKey]),
    );
    for (const scope of scopes) {
      const projects = pageOfProjects([...projectByName.values()], after, limit);
      // Every project of a later tenant comes after these.
      if (projects.length === limit && (projects.at(-1)?.tenant_id ?? '') < scope.tenant_id) return projects;
      for (const projectKey of await this.heldIn(scope))
        projectByName.set(nameOf(projectKey.tenant_id, projectKey.project_id), projectKey);
    }
    return pageOfProjects([...projectByName.values()], after, limit);
  }

  private async heldIn({ tenant_id, scope }: ScopeOnHeads): Promise<ProjectKey[]> {
    const shares = await this.dynamo.all({
      TableName: this.dynamo.tables.state,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :project)',
      FilterExpression: 'registered > :none',
      ExpressionAttributeValues: {
        ':pk': S(sharesPartition(tenant_id, scope)),
        ':project': S('P#'),
        ':none': N(0),
      },
    });
    return shares.map(({ sk }) => ({ tenant_id, project_id: unescapeName(textOf(sk).slice('P#'.length)) }));
  }
}

const nameOf = (...parts: readonly string[]): string => JSON.stringify(parts);

const partsOf = (items: readonly DynamoItem[], kind: string): (readonly [string, string])[] =>
  items
    .map(({ sk }) => textOf(sk).split('#'))
    .filter(([first]) => first === kind)
    .map(([, tenant = '', name = '']) => [unescapeName(tenant), unescapeName(name)]);

const scopesIn = (items: readonly DynamoItem[]): ScopeOnHeads[] =>
  partsOf(items, SCOPE_ON_HEADS).map(([tenant_id, scope]) => ({ tenant_id, scope }));

const endedIn = (items: readonly DynamoItem[], nowMs: number): ProjectKey[] =>
  partsOf(
    items.filter(({ at_ms }) => numberOf(at_ms) > nowMs - ENDED_LISTED_MS),
    ENDED_PERMITS,
  ).map(([tenant_id, project_id]) => ({ tenant_id, project_id }));
