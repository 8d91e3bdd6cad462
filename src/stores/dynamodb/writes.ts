import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { KeptRequest } from '../requests.js';
import { type ProjectKey, REQUEST_WINDOW_MS, StoreRefused } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import {
  type Draft,
  type HeadEntry,
  ITEMS_MAX,
  type MemberEntry,
  type PlacedEvent,
  type ShareEntry,
} from './draft.js';
import {
  DAY_S,
  headOf,
  indexAttributes,
  projectItem,
  projectOf,
  requestItem,
  requestOf,
  shareOf,
  timeAttributes,
  untilOf,
  untilValue,
} from './items.js';
import {
  attemptKey,
  bucketOf,
  eventKey,
  headKey,
  type Item,
  type Key,
  memberKey,
  N,
  noteKey,
  projectListKey,
  projectPart,
  requestKey,
  rowKey,
  S,
  shareKey,
} from './keys.js';
import { type Known, memberName, NO_PROJECT } from './known.js';
import { type Tables, TTL_ATTRIBUTE } from './schema.js';
import { type Text, textAs } from './texts.js';

/** One write of a transaction, and what its failed condition teaches. */
export interface Write {
  readonly item: TransactWriteItem;
  readonly learn?: (there: Item | undefined) => void | Promise<void>;
}

/** A draft as DynamoDB takes it. */
export interface Written {
  readonly writes: readonly Write[];
  /** Texts that must be there before the items that refer to them. */
  readonly beside: readonly Text[];
  /** Keys for the indexes that no event item has room for; they lead to a page, and are no harm if it never comes. */
  readonly hints: readonly Item[];
}

/** The place of the attempt's mark among the writes. */
export const MARK_INDEX = 1;

interface Condition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: Item;
}

const IS_NEW: Condition = { ConditionExpression: 'attribute_not_exists(pk)' };
const IS_THERE: Condition = { ConditionExpression: 'attribute_exists(pk)' };

export class Writer {
  private readonly writes: Write[] = [];
  private readonly beside: Text[] = [];
  private readonly hints: Item[] = [];

  constructor(
    private readonly project: ProjectKey,
    private readonly known: Known,
    private readonly draft: Draft,
    private readonly attempt_id: string,
    private readonly tables: Tables,
    private readonly blobs: DynamodbBlobs,
  ) {}

  write(): Written {
    this.row();
    this.mark();
    if (this.known.project.version === 0) this.listing();
    for (const [subject, entry] of this.draft.heads) this.head(subject, entry);
    for (const [key, kept] of this.draft.requests) this.request(key, kept);
    for (const event_id of this.draft.notes) this.note(event_id);
    for (const entry of this.draft.members.values()) this.member(entry);
    for (const [scope, entry] of this.draft.shares) this.share(scope, entry);
    this.events();
    if (this.writes.length > ITEMS_MAX) {
      throw new StoreRefused(
        `One command changes ${this.writes.length} items at once, and DynamoDB takes ${ITEMS_MAX}: ask for less at a time.`,
      );
    }
    return { writes: this.writes, beside: this.beside, hints: this.hints };
  }

  /** The mark of an attempt, also for whoever makes it void. */
  markItem(): Item {
    const ttl = N(Math.ceil(this.draft.now_ms / 1000) + DAY_S);
    return { ...attemptKey(this.project, this.attempt_id), [TTL_ATTRIBUTE]: ttl };
  }

  private row(): void {
    const { known, draft, project } = this;
    const { version } = known.project;
    const condition: Condition =
      version === 0
        ? IS_NEW
        : {
            ConditionExpression: '#version = :version',
            ExpressionAttributeNames: { '#version': 'version' },
            ExpressionAttributeValues: { ':version': N(version) },
          };
    this.put(this.tables.state, { ...rowKey(project), ...projectItem(draft.project) }, condition, (there) =>
      known.learnProject(there === undefined ? NO_PROJECT : projectOf(there)),
    );
  }

  private mark(): void {
    this.put(this.tables.requests, this.markItem(), IS_NEW);
  }

  private listing(): void {
    const { project } = this;
    this.put(this.tables.state, { ...projectListKey(project), project_id: S(project.project_id) });
  }

  private head(subject: string, entry: HeadEntry): void {
    const { assumed_seq, seq, swapped, head } = entry;
    const key = headKey(this.project, subject);
    const condition: Condition =
      assumed_seq === 0
        ? IS_NEW
        : { ConditionExpression: 'seq = :seq', ExpressionAttributeValues: { ':seq': N(assumed_seq) } };
    const { heads } = this.known;
    const learn = async (there: Item | undefined) => {
      const { tenant_id } = this.project;
      heads.set(subject, there === undefined ? null : await headOf(there, this.blobs, tenant_id));
    };
    if (!swapped) this.ask(this.tables.state, key, condition, learn);
    else this.put(this.tables.state, { ...key, seq: N(seq), ...this.text('head', head) }, condition, learn);
  }

  private request(key: string, kept: KeptRequest | null): void {
    const condition: Condition = {
      ConditionExpression: 'attribute_not_exists(pk) OR at_ms < :window',
      ExpressionAttributeValues: { ':window': N(this.draft.now_ms - REQUEST_WINDOW_MS) },
    };
    const learn = (there: Item | undefined) => {
      this.known.requests.set(key, there === undefined ? null : requestOf(there));
    };
    const itemKey = requestKey(this.project, key);
    if (kept === null) this.ask(this.tables.requests, itemKey, condition, learn);
    else this.put(this.tables.requests, { ...itemKey, ...requestItem(kept) }, condition, learn);
  }

  private note(event_id: string): void {
    this.put(this.tables.state, noteKey(this.project, event_id), IS_NEW, () => {
      this.known.notes.add(event_id);
    });
  }

  private member({ scope, member, assumed, until_ms }: MemberEntry): void {
    const key = memberKey(this.project, scope, member);
    const condition = this.memberCondition(assumed);
    const learn = (there: Item | undefined) => {
      this.known.members.set(memberName(scope, member), there === undefined ? null : untilOf(there));
    };
    if (until_ms !== null) {
      this.put(this.tables.state, { ...key, until_ms: untilValue(until_ms) }, condition, learn);
    } else if (assumed === 'absent') {
      this.ask(this.tables.state, key, condition, learn);
    } else {
      this.add({ Delete: { TableName: this.tables.state, Key: key, ...condition, ...ALL_OLD } }, learn);
    }
  }

  private memberCondition(assumed: MemberEntry['assumed']): Condition {
    if (assumed === 'absent') return IS_NEW;
    if (assumed === 'present') return IS_THERE;
    return {
      ConditionExpression: assumed === 'live' ? 'until_ms > :now' : 'until_ms <= :now',
      ExpressionAttributeValues: { ':now': N(this.draft.now_ms) },
    };
  }

  private share(scope: string, { delta, need, max }: ShareEntry): void {
    const Key = shareKey(this.project, scope);
    const asked: Condition | null =
      need === null
        ? null
        : {
            ConditionExpression: 'spare >= :need AND room_max <= :max',

            ExpressionAttributeValues: { ':need': N(need), ':max': N(max) },
          };
    const learn = (there: Item | undefined) => {
      this.known.shares.set(scope, there === undefined ? null : shareOf(there));
    };
    if (delta === 0) {
      if (asked !== null) this.ask(this.tables.state, Key, asked, learn);
      return;
    }
    const Update = {
      TableName: this.tables.state,
      Key,
      UpdateExpression: 'ADD registered :delta, spare :minus',
      ...(asked === null ? {} : { ConditionExpression: asked.ConditionExpression }),

      ExpressionAttributeValues: {
        ...asked?.ExpressionAttributeValues,
        ':delta': N(delta),
        ':minus': N(-delta),
      },
      ...ALL_OLD,
    };
    this.add({ Update }, learn);
  }

  /** An item each, unless one unit alone has more of them than a transaction takes. */
  private events(): void {
    const { events } = this.draft;
    if (this.writes.length + events.length <= ITEMS_MAX) {
      for (const placed of events) this.event(placed.position, placed.event, this.indexed(placed));
      return;
    }
    for (const page of pagesOf(events)) {
      const { position } = page.at(-1) as PlacedEvent;
      const kept = page.map(({ event }) => event);
      this.event(position, kept, {});
    }
    const pk = S(`${projectPart(this.project)}#X#${this.attempt_id}`);
    for (const placed of events) {
      this.hints.push({ pk, position: N(placed.position), ...this.indexed(placed) });
    }
  }

  /** Unconditional: whoever moves the project's row has its positions for himself. */
  private event(position: number, kept: unknown, indexed: Item): void {
    this.put(this.tables.events, {
      ...eventKey(this.project, position),
      at_ms: N(this.draft.now_ms),
      ...this.text('event', kept),
      ...indexed,
    });
  }

  private indexed(placed: PlacedEvent): Item {
    const before = this.known.project;
    const isFirst = placed.position === before.position + 1;
    return {
      ...indexAttributes(this.project, placed),
      ...(isFirst ? timeAttributes(this.project, before) : {}),
    };
  }

  private text(name: string, value: unknown): Item {
    const text = textAs(name, value);
    if (text.beside !== null) this.beside.push(text);
    return text.attributes;
  }

  private put(table: string, item: Item, condition?: Condition, learn?: Write['learn']): void {
    const guarded = condition === undefined ? {} : { ...condition, ...ALL_OLD };
    this.add({ Put: { TableName: table, Item: item, ...guarded } }, learn);
  }

  private ask(table: string, key: Key, condition: Condition, learn: Write['learn']): void {
    this.add({ ConditionCheck: { TableName: table, Key: key, ...condition, ...ALL_OLD } }, learn);
  }

  private add(item: TransactWriteItem, learn: Write['learn']): void {
    this.writes.push(learn === undefined ? { item } : { item, learn });
  }
}

const ALL_OLD = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;

/** A page keeps within its bucket, so that a reader of the bucket finds all of it. */
function pagesOf(events: readonly PlacedEvent[]): PlacedEvent[][] {
  const pages = new Map<number, PlacedEvent[]>();
  for (const placed of events) {
    const bucket = bucketOf(placed.position);
    pages.set(bucket, [...(pages.get(bucket) ?? []), placed]);
  }
  return [...pages.values()];
}
