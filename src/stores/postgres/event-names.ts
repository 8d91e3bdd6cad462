import type { NewEvent } from '../../core/events/envelope.js';

/**
 * The index of the names of events: a row of `event_names` has a key for each name that occurs in a block of adjacent
 * events. A query finds the blocks by a key and reads the events in them. That costs a commit less than an index per field.
 */
const BLOCK_EVENTS = 64;
/**
 * A key contains the epoch of a position: the position without this many low bits. So a name has another key in each epoch, and
 * a query of a long log looks up one epoch, then more at a time, instead of all blocks at once.
 */
const EPOCH_BITS = 16;
/** Number of latest events that are read without the index: a lookup also has to read the list of keys that GIN has not merged yet. */
const TAIL_EVENTS = 256;

/** The indexed fields, those that match the fewest events first; the index in this list is part of the key. */
export const EVENT_NAME_FIELDS = [
  'task_id',
  'session_id',
  'feature_id',
  'edge',
  'agent_id',
  'event_type',
] as const;
export type EventNameField = (typeof EVENT_NAME_FIELDS)[number];

const keyOf = (name: string, field: number | string, projectNumber: string, epoch: string): string =>
  `hashtextextended(${name}, (${projectNumber}::bigint << 32) | (${epoch} << 3) | ${field})`;

/** Values of the placeholders in the SQL files. */
export const NAMES_SQL = {
  block_events: BLOCK_EVENTS,
  epoch_bits: EPOCH_BITS,
  tail_events: TAIL_EVENTS,
  keys_of_event: `ARRAY[${EVENT_NAME_FIELDS.map((field, number) =>
    keyOf(`e.${field}`, number, 'e.project_no', `(e.position >> ${EPOCH_BITS})`),
  ).join(', ')}]`,
  key_of_line: keyOf('k.name COLLATE "C"', 'k.field', 'p.project_no', `(k.first >> ${EPOCH_BITS})`),
  key_of_name: keyOf('k.name COLLATE "C"', 'field', 'number', 'o.epoch'),
} as const;

/** Parallel columns for the index: the numbers of a block and of a field, and a name that occurs there. */
interface BlockNames {
  readonly blocks: readonly number[];
  readonly fields: readonly number[];
  readonly names: readonly string[];
}

/** Which names occur in which block of the events. */
export function blockNames(events: readonly NewEvent[]): BlockNames {
  const namesByBlock = { blocks: [] as number[], fields: [] as number[], names: [] as string[] };
  for (const [field, column] of EVENT_NAME_FIELDS.entries()) {
    for (let first = 0; first < events.length; first += BLOCK_EVENTS) {
      for (const name of namesInBlock(events, first, column)) {
        namesByBlock.blocks.push(first / BLOCK_EVENTS);
        namesByBlock.fields.push(field);
        namesByBlock.names.push(name);
      }
    }
  }
  return namesByBlock;
}

function namesInBlock(
  events: readonly NewEvent[],
  first: number,
  column: EventNameField,
): ReadonlySet<string> {
  const names = new Set<string>();
  const end = Math.min(first + BLOCK_EVENTS, events.length);
  for (let index = first; index < end; index += 1) {
    const event = events[index] as NewEvent;
    const name = event[column];
    // A `task_id` that equals the subject is found by the subject.
    if (name !== undefined && !(column === 'task_id' && name === event.subject)) names.add(name);
  }
  return names;
}
