import { randomUUID } from 'node:crypto';
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { ProjectKey } from '../store.js';
import { type DynamoClient, pause } from './connection.js';
import { classifyError } from './errors.js';
import type { DynamodbHeldProjects } from './held-projects.js';
import { shareFromItem, untilFromItem, untilValue } from './items.js';
import {
  ALLOCATION_SK,
  allocationKey,
  type DynamoItem,
  type DynamoKey,
  endedInProjectKey,
  membersPartition,
  N,
  numberOf,
  S,
  SHARDS,
  shareKey,
  sharesPartition,
  textOf,
} from './keys.js';
import type { PermitCount, PermitShare } from './project-cache.js';

const ROUNDS_MAX = 50;
/** Of the hundred items of a transaction. */
const CHANGED_AT_ONCE = 90;

/** A project's new share, and the number of free permits if that is less than it wanted. */
export interface PermitGrant {
  readonly share: PermitShare;
  readonly free_permits: PermitCount | null;
}

interface ScopeShares {
  readonly allocationVersion: number;
  readonly own: PermitShare;
  readonly others: readonly { readonly key: DynamoKey; readonly share: PermitShare }[];
}

/**
 * Allocates the permits of a tenant's scopes. A project takes permits out of its own share, so that projects do not
 * conflict with each other; all shares together never exceed the limit. Only if its share is too small does a project
 * look at the others: it takes what they do not use, and removes expired permits. So a permit is freed without a
 * background job, and `full` is reported only after every permit was checked.
 */
export class PermitShares {
  constructor(
    private readonly dynamo: DynamoClient,
    private readonly heldProjects: Pick<DynamodbHeldProjects, 'isOnHeads'>,
  ) {}

  /** Live members of a scope, over all projects of the tenant. */
  async countPermits(tenantId: string, scope: string, nowMs: number): Promise<number> {
    const counts = await Promise.all(
      SHARDS.map((shard) =>
        this.dynamo.count({
          TableName: this.dynamo.tables.state,
          KeyConditionExpression: 'pk = :pk',
          FilterExpression: 'until_ms > :now',
          ExpressionAttributeValues: { ':pk': S(membersPartition(tenantId, scope, shard)), ':now': N(nowMs) },
        }),
      ),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /**
   * Makes sure that the project may take `want` more permits of a scope limited to `max`, if that many are free. Null:
   * gave up after too many conflicts.
   */
  async reserve(
    projectKey: ProjectKey,
    { scope, max, want }: { readonly scope: string; readonly max: number; readonly want: number },
    nowMs: number,
  ): Promise<PermitGrant | null> {
    let earliestMs: number | null = null;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const shared = await this.read(projectKey, scope);
      const unshared = max - shared.own.registered - sumOverOthers(shared, reserved);
      const unused = max - shared.own.registered - sumOverOthers(shared, ({ registered }) => registered);
      const spare = unshared >= want ? want + Math.floor((unshared - want) / 2) : Math.min(want, unused);
      if (spare < want && earliestMs === null) {
        // The shares are read again after this: every permit that is still counted is then known to be live.
        earliestMs = await this.removeExpired(projectKey.tenant_id, scope, nowMs);
        continue;
      }
      const free_permits = spare < want ? { max, spare, until_ms: earliestMs ?? nowMs } : null;
      if (free_permits !== null && spare <= 0) return { share: shared.own, free_permits };
      const share: PermitShare = { registered: shared.own.registered, spare, room_max: max };
      if (await this.setShare(projectKey, scope, shared, share, unshared < want))
        return { share, free_permits };
      await pause(round);
    }
    return null;
  }

  private async read(projectKey: ProjectKey, scope: string): Promise<ScopeShares> {
    const pk = sharesPartition(projectKey.tenant_id, scope);
    const items = await this.dynamo.partition(this.dynamo.tables.state, pk);
    const ownSortKey = textOf(shareKey(projectKey, scope).sk);
    const itemBySortKey = new Map(items.map((item) => [textOf(item.sk), item]));
    const allocation = itemBySortKey.get(ALLOCATION_SK);
    const own = itemBySortKey.get(ownSortKey);
    const others = items.filter((item) => item !== allocation && item !== own);
    return {
      allocationVersion: numberOf(allocation?.version),
      own: own === undefined ? { registered: 0, spare: 0, room_max: 0 } : shareFromItem(own),
      others: others.map((item) => ({ key: keyOf(item), share: shareFromItem(item) })),
    };
  }

  /** The version of the allocation prevents two projects from taking the same permits. */
  private setShare(
    projectKey: ProjectKey,
    scope: string,
    shared: ScopeShares,
    share: PermitShare,
    takesFromOthers: boolean,
  ): Promise<boolean> {
    const { state } = this.dynamo.tables;
    const allocation: TransactWriteItem = {
      Put: {
        TableName: state,
        Item: { ...allocationKey(projectKey.tenant_id, scope), version: N(shared.allocationVersion + 1) },
        ConditionExpression: 'attribute_not_exists(pk) OR #version = :version',
        ExpressionAttributeNames: { '#version': 'version' },
        ExpressionAttributeValues: { ':version': N(shared.allocationVersion) },
      },
    };
    const idle = takesFromOthers ? shared.others.filter((other) => other.share.spare > 0) : [];
    const emptied = idle
      .slice(0, CHANGED_AT_ONCE)
      .map((other) => this.update(other.key, other.share, { ...other.share, spare: 0 }));
    const isLast = emptied.length === idle.length;
    const own = this.update(shareKey(projectKey, scope), shared.own, isLast ? share : shared.own);
    return this.transact([allocation, own, ...emptied]).then((happened) => happened && isLast);
  }

  private update(key: DynamoKey, from: PermitShare, to: PermitShare): TransactWriteItem {
    const isNew = from.registered === 0 && from.spare === 0;
    return {
      Put: {
        TableName: this.dynamo.tables.state,
        Item: { ...key, registered: N(to.registered), spare: N(to.spare), room_max: untilValue(to.room_max) },
        ConditionExpression: `${isNew ? 'attribute_not_exists(pk) OR ' : ''}(registered = :registered AND spare = :spare)`,
        ExpressionAttributeValues: { ':registered': N(from.registered), ':spare': N(from.spare) },
      },
    };
  }

  /**
   * Removes expired permits of all projects, and returns when the next one expires. Null: another process interfered,
   * and the scope must be read again.
   */
  private async removeExpired(tenantId: string, scope: string, nowMs: number): Promise<number | null> {
    const { tables } = this.dynamo;
    const shards = SHARDS.map((shard) => membersPartition(tenantId, scope, shard));
    const members = (await Promise.all(shards.map((pk) => this.dynamo.partition(tables.state, pk)))).flat();
    const expired = members.filter((member) => untilFromItem(member) <= nowMs);
    for (const [projectPart, items] of byProject(expired)) {
      for (let first = 0; first < items.length; first += CHANGED_AT_ONCE) {
        const some = items.slice(first, first + CHANGED_AT_ONCE);
        if (!(await this.removeMembers(tenantId, scope, projectPart, some, nowMs))) return null;
      }
    }
    const live = members.map(untilFromItem).filter((untilMs) => untilMs > nowMs);
    return live.reduce((least, untilMs) => Math.min(least, untilMs), Number.POSITIVE_INFINITY);
  }

  private removeMembers(
    tenantId: string,
    scope: string,
    projectPart: string,
    members: readonly DynamoItem[],
    nowMs: number,
  ): Promise<boolean> {
    const { state } = this.dynamo.tables;
    const deletes = members.map((item) => ({
      Delete: {
        TableName: state,
        Key: keyOf(item),
        ConditionExpression: 'until_ms = :seen',
        ExpressionAttributeValues: { ':seen': item.until_ms } as DynamoItem,
      },
    }));
    const Update = {
      TableName: state,
      Key: { pk: S(sharesPartition(tenantId, scope)), sk: S(`P#${projectPart}`) },
      UpdateExpression: 'ADD registered :minus, spare :plus',
      ExpressionAttributeValues: { ':minus': N(-members.length), ':plus': N(members.length) },
    };
    const Item = { ...endedInProjectKey(tenantId, projectPart), at_ms: N(nowMs) };
    const listed = this.heldProjects.isOnHeads(tenantId, scope) ? [{ Put: { TableName: state, Item } }] : [];
    return this.transact([{ Update }, ...listed, ...deletes]);
  }

  /** Returns whether the transaction happened. A repeat is safe: the token is valid for longer than the retries take. */
  private async transact(writes: readonly TransactWriteItem[]): Promise<boolean> {
    const input = { TransactItems: [...writes], ClientRequestToken: randomUUID() };
    const { client, driver } = this.dynamo;
    return this.dynamo.withRetries(() =>
      client.send(new driver.TransactWriteItemsCommand(input)).then(
        () => true,
        (error) => {
          if (classifyError(error).kind === 'cancelled') return false;
          throw error;
        },
      ),
    );
  }
}

const keyOf = ({ pk, sk }: DynamoItem): DynamoKey => ({ pk, sk }) as DynamoKey;

const sumOverOthers = ({ others }: ScopeShares, part: (share: PermitShare) => number): number =>
  others.reduce((sum, { share }) => sum + part(share), 0);

const reserved = ({ registered, spare }: PermitShare): number => registered + Math.max(spare, 0);

/** A member's key begins with its project. */
function byProject(members: readonly DynamoItem[]): Map<string, DynamoItem[]> {
  const projects = new Map<string, DynamoItem[]>();
  for (const member of members) {
    const [projectPart] = textOf(member.sk).split('#', 1) as [string];
    projects.set(projectPart, [...(projects.get(projectPart) ?? []), member]);
  }
  return projects;
}
