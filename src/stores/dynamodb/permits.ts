import { randomUUID } from 'node:crypto';
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { ProjectKey } from '../store.js';
import { type DynamoClient, pause } from './connection.js';
import { classifyError } from './errors.js';
import { shareFromItem, untilFromItem, untilValue } from './items.js';
import {
  ALLOCATION_SK,
  allocationKey,
  type DynamoItem,
  type DynamoKey,
  endedPermitsKey,
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
import type { DynamodbProjectsWithPermits } from './projects-with-permits.js';
import { allocate, type ScopeShares } from './share-allocation.js';

const ROUNDS_MAX = 50;
/** Maximum number of changed shares, or removed members, in one transaction of at most a hundred items. */
const CHANGES_MAX = 90;

/** A project's new share, and the number of free permits if that is less than it wanted. */
interface PermitGrant {
  readonly share: PermitShare;
  readonly free_permits: PermitCount | null;
}

interface StoredShares extends ScopeShares {
  readonly allocationVersion: number;
  /** The keys of the other shares, in the order of `others`. */
  readonly otherKeys: readonly DynamoKey[];
}

/**
 * Allocates the permits of a tenant's scopes. A project takes permits out of its own share, so that projects do not
 * conflict with each other. A project that reserves a share never makes all shares together exceed its limit. Only if its
 * share is too small does a project read the other shares: it takes what they do not use, and removes expired permits. So a permit is freed without a
 * background job, and `full` is reported only after every permit was checked.
 */
export class PermitShares {
  constructor(
    private readonly dynamo: DynamoClient,
    private readonly projectsWithPermits: Pick<DynamodbProjectsWithPermits, 'isOnHeads'>,
  ) {}

  /** The number of live members of a scope, over all projects of the tenant. */
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
   * Reserves `wantedCount` permits of a scope for the project, or as many as are free under the limit `max`. Null: no
   * attempt succeeded, because other processes changed the scope or too many shares had to change; try again.
   */
  async reserve(
    projectKey: ProjectKey,
    {
      scope,
      max,
      wantedCount,
    }: { readonly scope: string; readonly max: number; readonly wantedCount: number },
    nowMs: number,
  ): Promise<PermitGrant | null> {
    let earliestMs: number | null = null;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const before = await this.readShares(projectKey, scope);
      const after = allocate(before, { max, wantedCount });
      const { spare } = after.ownShare;
      if (spare < wantedCount && earliestMs === null) {
        // The shares are read again after this: every permit that is still counted is then known to be live.
        earliestMs = await this.removeExpired(projectKey.tenant_id, scope, nowMs);
        continue;
      }
      const free_permits = spare < wantedCount ? { max, spare, until_ms: earliestMs ?? nowMs } : null;
      if (free_permits !== null && spare <= 0) return { share: before.ownShare, free_permits };
      if (await this.setShares(projectKey, scope, before, after))
        return { share: after.ownShare, free_permits };
      await pause(round);
    }
    return null;
  }

  private async readShares(projectKey: ProjectKey, scope: string): Promise<StoredShares> {
    const pk = sharesPartition(projectKey.tenant_id, scope);
    const items = await this.dynamo.partition(this.dynamo.tables.state, pk);
    const ownSortKey = textOf(shareKey(projectKey, scope).sk);
    const itemBySortKey = new Map(items.map((item) => [textOf(item.sk), item]));
    const allocation = itemBySortKey.get(ALLOCATION_SK);
    const ownItem = itemBySortKey.get(ownSortKey);
    const others = items.filter((item) => item !== allocation && item !== ownItem);
    return {
      allocationVersion: numberOf(allocation?.version),
      ownShare: ownItem === undefined ? { registered: 0, spare: 0, room_max: 0 } : shareFromItem(ownItem),
      others: others.map(shareFromItem),
      otherKeys: others.map(keyOf),
    };
  }

  /**
   * Writes the changed shares. The version of the allocation prevents two projects from taking the same permits. False:
   * another process changed the scope, or more shares changed than one transaction can write.
   */
  private setShares(
    projectKey: ProjectKey,
    scope: string,
    before: StoredShares,
    after: ScopeShares,
  ): Promise<boolean> {
    const { state } = this.dynamo.tables;
    const allocation: TransactWriteItem = {
      Put: {
        TableName: state,
        Item: { ...allocationKey(projectKey.tenant_id, scope), version: N(before.allocationVersion + 1) },
        ConditionExpression: 'attribute_not_exists(pk) OR #version = :version',
        ExpressionAttributeNames: { '#version': 'version' },
        ExpressionAttributeValues: { ':version': N(before.allocationVersion) },
      },
    };
    const changes = before.otherKeys.flatMap((key, index) => {
      const [from, to] = [before.others[index] as PermitShare, after.others[index] as PermitShare];
      return from.spare === to.spare && from.room_max === to.room_max ? [] : [this.shareWrite(key, from, to)];
    });
    const isLast = changes.length <= CHANGES_MAX;
    const ownWrite = this.shareWrite(
      shareKey(projectKey, scope),
      before.ownShare,
      isLast ? after.ownShare : before.ownShare,
    );
    return this.transact([allocation, ownWrite, ...changes.slice(0, CHANGES_MAX)]).then(
      (happened) => happened && isLast,
    );
  }

  private shareWrite(key: DynamoKey, from: PermitShare, to: PermitShare): TransactWriteItem {
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
      for (let first = 0; first < items.length; first += CHANGES_MAX) {
        const batch = items.slice(first, first + CHANGES_MAX);
        if (!(await this.removeMembers(tenantId, scope, projectPart, batch, nowMs))) return null;
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
    const Item = { ...endedPermitsKey(tenantId, projectPart), at_ms: N(nowMs) };
    const endedListing = this.projectsWithPermits.isOnHeads(tenantId, scope)
      ? [{ Put: { TableName: state, Item } }]
      : [];
    return this.transact([{ Update }, ...endedListing, ...deletes]);
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

/** Groups members by project: the key of a member begins with its project. */
function byProject(members: readonly DynamoItem[]): Map<string, DynamoItem[]> {
  const projects = new Map<string, DynamoItem[]>();
  for (const member of members) {
    const [projectPart] = textOf(member.sk).split('#', 1) as [string];
    projects.set(projectPart, [...(projects.get(projectPart) ?? []), member]);
  }
  return projects;
}
