/**
 * The index of fields whose values recur in many events. A project's positions are divided into blocks; the table
 * `event_name` lists the blocks in which a name occurs, and `event_time` the times of a block. That is a few rows per batch
 * of events, where an index would have an entry per event.
 */
export const BLOCK_EVENTS = 256;

/** The fields of `event_name`; the index in this list is the field's number in the table. */
export const NAMED_FIELDS = ['event_type', 'task_id', 'feature_id', 'edge'] as const;
export type NamedField = (typeof NAMED_FIELDS)[number];
export const fieldNumber = (field: NamedField): number => NAMED_FIELDS.indexOf(field);

type NamedEvent = { readonly [field in NamedField | 'subject']?: string | undefined };

/** The names of an event that `event_name` lists. A `task_id` that equals the subject is found by the subject. */
export function listedNames(event: NamedEvent): (readonly [field: number, name: string])[] {
  const names: (readonly [number, string])[] = [];
  for (const [field, column] of NAMED_FIELDS.entries()) {
    const name = event[column];
    if (name === undefined || (column === 'task_id' && name === event.subject)) continue;
    names.push([field, name]);
  }
  return names;
}

export const blockOf = (position: number): number => Math.floor(position / BLOCK_EVENTS);

/** The first and the last position of each range of blocks. `blocks` is ascending; adjacent blocks form one range. */
export function positionRanges(blocks: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const block of blocks) {
    const first = block * BLOCK_EVENTS;
    const previous = ranges.at(-1);
    if (previous !== undefined && previous[1] === first - 1) previous[1] += BLOCK_EVENTS;
    else ranges.push([first, first + BLOCK_EVENTS - 1]);
  }
  return ranges;
}
