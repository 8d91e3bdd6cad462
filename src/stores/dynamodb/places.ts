import { randomUUID } from 'node:crypto';
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { ProjectKey } from '../store.js';
import { type Dynamo, pause } from './dynamo.js';
import { failureOf } from './errors.js';
import { shareOf, untilOf, untilValue } from './items.js';
import {
  type Item,
  type Key,
  LOT,
  lotKey,
  membersPart,
  N,
  numberOf,
  S,
  SHARDS,
  shareKey,
  sharesPart,
  textOf,
} from './keys.js';
import type { Counted, Share } from './known.js';

const ROUNDS_MAX = 50;
/** Of the hundred items of a transaction. */
const REAPED_AT_ONCE = 90;
const EMPTIED_AT_ONCE = 90;

/** What a project may take from now on, and how many places are left if that is less than it wanted. */
export interface Room {
  readonly share: Share;
  readonly counted: Counted | null;
}

interface SharedScope {
  readonly lot_version: number;
  readonly own: Share;
  readonly others: readonly { readonly key: Key; readonly share: Share }[];
}

/**
 * Places in the scopes of a tenant. A project takes places out of a share of its own, so that projects do not get into
 * each other's way; shares together never hold more than the room. Only a share that is too small makes its project
 * look at the others: what they do not use is taken from them, and places that ran out are cleared away. That is how a
 * place comes free with no job running, and how `full` is told only when every place was looked at.
 */
export class Places {
  constructor(private readonly dynamo: Dynamo) {}

  /** Live members of a scope, of all projects of the tenant. */
  async occupancy(tenant_id: string, scope: string, now_ms: number): Promise<number> {
    const counts = await Promise.all(
      SHARDS.map((shard) =>
        this.dynamo.count({
          TableName: this.dynamo.tables.state,
          KeyConditionExpression: 'pk = :pk',
          FilterExpression: 'until_ms > :now',
          ExpressionAttributeValues: { ':pk': S(membersPart(tenant_id, scope, shard)), ':now': N(now_ms) },
        }),
      ),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /**
   * Sees to it that the project may take `want` places more where the scope has room for `max`, if there are so many.
   * Null: others were in the way for too long.
   */
  async makeRoom(
    project: ProjectKey,
    { scope, max, want }: { readonly scope: string; readonly max: number; readonly want: number },
    now_ms: number,
  ): Promise<Room | null> {
    let earliest_ms: number | null = null;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const shared = await this.read(project, scope);
      const unshared = max - shared.own.registered - total(shared, reserved);
      const unused = max - shared.own.registered - total(shared, ({ registered }) => registered);
      const spare = unshared >= want ? want + Math.floor((unshared - want) / 2) : Math.min(want, unused);
      if (spare < want && earliest_ms === null) {
        // The shares are read again after this: every place that is still counted is then known to be live.
        earliest_ms = await this.reap(project.tenant_id, scope, now_ms);
        continue;
      }
      const counted = spare < want ? { max, spare, until_ms: earliest_ms ?? now_ms } : null;
      if (counted !== null && spare <= 0) return { share: shared.own, counted };
      const share: Share = { registered: shared.own.registered, spare, room_max: max };
      if (await this.setShare(project, scope, shared, share, unshared < want)) return { share, counted };
      await pause(round);
    }
    return null;
  }

  private async read(project: ProjectKey, scope: string): Promise<SharedScope> {
    const items = await this.dynamo.all({
      TableName: this.dynamo.tables.state,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': S(sharesPart(project.tenant_id, scope)) },
    });
    const own_sk = textOf(shareKey(project, scope).sk);
    let lot_version = 0;
    let own: Share = { registered: 0, spare: 0, room_max: 0 };
    const others: { key: Key; share: Share }[] = [];
    for (const item of items) {
      const { pk, sk } = item as Item & { pk: { S: string }; sk: { S: string } };
      if (sk.S === LOT) lot_version = numberOf(item.version);
      else if (sk.S === own_sk) own = shareOf(item);
      else others.push({ key: { pk, sk }, share: shareOf(item) });
    }
    return { lot_version, own, others };
  }

  /** The version of the lot keeps two projects from giving themselves the same places. */
  private setShare(
    project: ProjectKey,
    scope: string,
    shared: SharedScope,
    share: Share,
    takesFromOthers: boolean,
  ): Promise<boolean> {
    const { state } = this.dynamo.tables;
    const lot: TransactWriteItem = {
      Put: {
        TableName: state,
        Item: { ...lotKey(project.tenant_id, scope), version: N(shared.lot_version + 1) },
        ConditionExpression: 'attribute_not_exists(pk) OR #version = :version',
        ExpressionAttributeNames: { '#version': 'version' },
        ExpressionAttributeValues: { ':version': N(shared.lot_version) },
      },
    };
    const idle = takesFromOthers ? shared.others.filter((other) => other.share.spare > 0) : [];
    const emptied = idle
      .slice(0, EMPTIED_AT_ONCE)
      .map((other) => this.update(other.key, other.share, { ...other.share, spare: 0 }));
    const isLast = emptied.length === idle.length;
    const own = this.update(shareKey(project, scope), shared.own, isLast ? share : shared.own);
    return this.all([lot, own, ...emptied]).then((happened) => happened && isLast);
  }

  private update(key: Key, from: Share, to: Share): TransactWriteItem {
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
   * Clears away the places that ran out, of whichever project, and tells when the next one will.
   * Null: somebody else was about it, and it must be looked at again.
   */
  private async reap(tenant_id: string, scope: string, now_ms: number): Promise<number | null> {
    const members = await this.members(tenant_id, scope);
    const over = members.filter((member) => untilOf(member) <= now_ms);
    for (const [project_part, items] of byProject(over)) {
      for (let first = 0; first < items.length; first += REAPED_AT_ONCE) {
        const some = items.slice(first, first + REAPED_AT_ONCE);
        if (!(await this.clear(tenant_id, scope, project_part, some))) return null;
      }
    }
    return members.reduce((least, member) => {
      const until_ms = untilOf(member);
      return until_ms > now_ms ? Math.min(least, until_ms) : least;
    }, Number.POSITIVE_INFINITY);
  }

  private async members(tenant_id: string, scope: string): Promise<Item[]> {
    const found = await Promise.all(
      SHARDS.map((shard) =>
        this.dynamo.all({
          TableName: this.dynamo.tables.state,
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': S(membersPart(tenant_id, scope, shard)) },
        }),
      ),
    );
    return found.flat();
  }

  private clear(
    tenant_id: string,
    scope: string,
    project_part: string,
    members: readonly Item[],
  ): Promise<boolean> {
    const { state } = this.dynamo.tables;
    const deletes = members.map((item) => ({
      Delete: {
        TableName: state,
        Key: { pk: item.pk, sk: item.sk } as Key,
        ConditionExpression: 'until_ms = :seen',
        ExpressionAttributeValues: { ':seen': item.until_ms } as Item,
      },
    }));
    const Update = {
      TableName: state,
      Key: { pk: S(sharesPart(tenant_id, scope)), sk: S(`P#${project_part}`) },
      UpdateExpression: 'ADD registered :minus, spare :plus',

      ExpressionAttributeValues: { ':minus': N(-members.length), ':plus': N(members.length) },
    };
    return this.all([{ Update }, ...deletes]);
  }

  /** Whether it happened. It may be sent twice: the token answers for longer than anybody here waits. */
  private async all(writes: readonly TransactWriteItem[]): Promise<boolean> {
    const input = { TransactItems: [...writes], ClientRequestToken: randomUUID() };
    const { client, driver } = this.dynamo;
    return this.dynamo.retried(() =>
      client.send(new driver.TransactWriteItemsCommand(input)).then(
        () => true,
        (error) => {
          if (failureOf(error).kind === 'cancelled') return false;
          throw error;
        },
      ),
    );
  }
}

const total = ({ others }: SharedScope, part: (share: Share) => number): number =>
  others.reduce((sum, { share }) => sum + part(share), 0);

const reserved = ({ registered, spare }: Share): number => registered + Math.max(spare, 0);

/** A member's key begins with its project. */
function byProject(members: readonly Item[]): Map<string, Item[]> {
  const projects = new Map<string, Item[]>();
  for (const member of members) {
    const [project_part] = textOf(member.sk).split('#', 1) as [string];
    const items = projects.get(project_part) ?? [];
    items.push(member);
    projects.set(project_part, items);
  }
  return projects;
}
