import { type EventEnvelope, msOf } from '../../core/events/envelope.js';
import { eventMatcher, SELECTIVE_FIELDS } from '../event-matcher.js';
import type { SqlRow } from '../sql/sql-store.js';
import type { EventQuery, ProjectKey } from '../store.js';
import type { SqlValue } from './connection.js';
import {
  BLOCK_EVENTS,
  blockOf,
  fieldNumber,
  NAMED_FIELDS,
  type NamedField,
  positionRanges,
} from './event-blocks.js';
import { nameBytes } from './name-encoding.js';
import { sql } from './queries.js';

/** Runs a statement that reads. */
type RunStatement = (statement: string, values: readonly SqlValue[]) => Promise<readonly SqlRow[]>;

const BLOCKS_AT_ONCE = 64;
/** Larger than any block number. */
const LAST_BLOCK = 2 ** 32 - 1;

type Condition = readonly [sql: string, ...values: SqlValue[]];

/** The events that may match a filter, up to the position `through`, in order. */
interface CandidatePage {
  readonly events: readonly EventEnvelope[];
  readonly through: number;
}

export async function readEvents(
  run: RunStatement,
  projectKey: ProjectKey,
  query: EventQuery,
): Promise<EventEnvelope[]> {
  if (query.types?.length === 0 || query.limit <= 0) return [];
  const reader = new EventReader(run, projectKey, query, Math.floor(query.limit));
  const bounds = await reader.positionBounds();
  return bounds === null ? [] : reader.read(bounds.after, bounds.last);
}

/**
 * Reads the candidates of a query from one index, page by page, and tests each against the whole query: some filters
 * are not columns, and the blocks and the search for a field's text return more than what matches.
 */
class EventReader {
  private readonly key: readonly [Buffer, Buffer];

  constructor(
    private readonly run: RunStatement,
    { tenant_id, project_id }: ProjectKey,
    private readonly query: EventQuery,
    private readonly limit: number,
  ) {
    this.key = [nameBytes(tenant_id), nameBytes(project_id)];
  }

  async read(after: number, last: number): Promise<EventEnvelope[]> {
    const matches = eventMatcher(this.query);
    const matching: EventEnvelope[] = [];
    for (let from = after; from < last && matching.length < this.limit; ) {
      const { events, through } = await this.candidates(from, last);
      matching.push(...events.filter(matches));
      from = through;
    }
    return matching.slice(0, this.limit);
  }

  /**
   * The positions that can match; null if none can. Timestamps are only roughly in order, so the bounds come from the
   * earliest and the latest time of each block.
   */
  async positionBounds(): Promise<{ after: number; last: number } | null> {
    const { after, since, until, until_position: last = Number.MAX_SAFE_INTEGER } = this.query;
    if (since === undefined && until === undefined) return { after, last };
    const times = [
      since === undefined ? Number.MIN_SAFE_INTEGER : msOf(since),
      until === undefined ? Number.MAX_SAFE_INTEGER : msOf(until),
    ];
    if (times.some(Number.isNaN)) return null;
    const [row] = await this.run(sql('blocks_of_time'), [...this.key, ...times]);
    if (row?.first == null) return null;
    return {
      after: Math.max(after, Number(row.first) * BLOCK_EVENTS - 1),
      last: Math.min(last, (Number(row.last) + 1) * BLOCK_EVENTS - 1),
    };
  }

  private async candidates(after: number, last: number): Promise<CandidatePage> {
    const field = SELECTIVE_FIELDS.find((name) => this.query[name] !== undefined);
    const name = field === undefined ? '' : (this.query[field] as string);
    switch (field) {
      case 'subject':
      case 'session_id':
      case 'agent_id':
        return this.indexed(`by_${field}`, after, last, [`e.${field} = ?`, nameBytes(name)]);
      case 'task_id': {
        const isSubject: Condition = ['e.subject = ?', nameBytes(name)];
        return mergedPage(
          await this.indexed('by_subject', after, last, isSubject),
          await this.inBlocks('task_id', [name], after, last),
        );
      }
      case 'feature_id':
      case 'edge':
        return this.inBlocks(field, [name], after, last);
      default:
        if (this.query.types === undefined) return this.indexed('PRIMARY', after, last);
        return this.inBlocks('event_type', [...new Set(this.query.types)], after, last);
    }
  }

  /** A page in the order of an index. */
  private async indexed(
    index: string,
    after: number,
    last: number,
    more?: Condition,
  ): Promise<CandidatePage> {
    const range: Condition = ['e.position > ? AND e.position <= ?', after, last];
    return this.page(index, [range, ...(more === undefined ? [] : [more])], Number.POSITIVE_INFINITY);
  }

  /** A page of the next blocks in which one of the names occurs. */
  private async inBlocks(
    field: NamedField,
    names: readonly string[],
    after: number,
    last: number,
  ): Promise<CandidatePage> {
    const rows = await this.run(sql('blocks_of_names', { limit: BLOCKS_AT_ONCE }), [
      ...this.key,
      fieldNumber(field),
      names.map(nameBytes),
      blockOf(after + 1),
      Math.min(blockOf(last), LAST_BLOCK),
    ]);
    if (rows.length === 0) return { events: [], through: Number.POSITIVE_INFINITY };
    const ranges = positionRanges(rows.map(({ block }) => Number(block)));
    const end = ranges.at(-1)?.[1] as number;
    const clipped = ranges.map(([first, until]) => [Math.max(first, after + 1), Math.min(until, last)]);
    const inRanges: Condition = [
      `(${clipped.map(() => 'e.position BETWEEN ? AND ?').join(' OR ')})`,
      ...clipped.flat(),
    ];
    return this.page('PRIMARY', [inRanges], rows.length < BLOCKS_AT_ONCE ? Number.POSITIVE_INFINITY : end);
  }

  private async page(index: string, range: readonly Condition[], through: number): Promise<CandidatePage> {
    const conditions = [...range, ...fieldConditions(this.query)];
    const condition = conditions.map(([text]) => text).join(' AND ');
    const values = conditions.flatMap(([, ...parts]) => parts);
    const rows = await this.run(sql('events', { index, condition, limit: this.limit }), [
      ...this.key,
      ...values,
    ]);
    const events = rows.map(({ position, event }) =>
      JSON.parse(`{"position":${position},${String(event).slice(1)}`),
    );
    return { events, through: events.length < this.limit ? through : events.at(-1).position };
  }
}

/** Merges two pages as far as both are complete: up to the lower `through`. */
function mergedPage(a: CandidatePage, b: CandidatePage): CandidatePage {
  const through = Math.min(a.through, b.through);
  const byPosition = new Map([...a.events, ...b.events].map((event) => [event.position, event]));
  const events = [...byPosition.values()].filter(({ position }) => position <= through);
  return { events: events.sort((x, y) => x.position - y.position), through };
}

/** Filters that the server applies before it sends a row. The text of a stored field is what JSON.stringify writes. */
function fieldConditions(query: EventQuery): Condition[] {
  const conditions: Condition[] = [];
  for (const field of NAMED_FIELDS) {
    const names =
      field === 'event_type' ? query.types : query[field] === undefined ? undefined : [query[field]];
    if (names === undefined) continue;
    const texts = names.map((name) => Buffer.from(`"${field}":${JSON.stringify(name)}`));
    conditions.push([`(${texts.map(() => 'INSTR(e.event, ?)').join(' OR ')})`, ...texts]);
  }
  for (const field of ['subject', 'agent_id', 'session_id'] as const) {
    const name = query[field];
    if (name !== undefined) conditions.push([`e.${field} = ?`, nameBytes(name)]);
  }
  return conditions;
}
