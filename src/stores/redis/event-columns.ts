import { msOf, type NewEvent } from '../../core/events/envelope.js';
import { lineOf } from '../event-line.js';
import { forEachIndexed, INDEX_PREFIX } from './keys.js';

/** Later than any time, and a valid number in JSON, in Lua and in a sorted set. */
export const FOREVER_MS = 1e300;

/** The events of a commit are stored in chunks of this many, a line each; shared.lua has the same number. */
const CHUNK_EVENTS = 32;

/** The events of a commit as they are stored: in chunks, each with its range of times, and indexed by their values. */
export class EventColumns {
  count = 0;
  private readonly chunks: string[] = [];
  private readonly times: number[] = [];
  private readonly index = newIndex();
  private lines: string[] = [];
  private minMs = FOREVER_MS;
  private maxMs = -FOREVER_MS;

  /** `indexed` has the values by which the event is found, if they differ from its fields. */
  add(event: NewEvent, indexed = event): void {
    const atMs = msOf(event.timestamp);
    this.count += 1;
    this.lines.push(lineOf(event, atMs));
    if (atMs < this.minMs) this.minMs = atMs;
    if (atMs > this.maxMs) this.maxMs = atMs;
    if (this.lines.length === CHUNK_EVENTS) this.endChunk();
    forEachIndexed(indexed, (field, value) => {
      const numbers = this.index[field].get(value);
      if (numbers === undefined) this.index[field].set(value, [this.count]);
      else numbers.push(this.count);
    });
  }

  finish() {
    if (this.lines.length > 0) this.endChunk();
    const names: string[] = [];
    const eventNumbers: string[] = [];
    for (const field of Object.keys(this.index) as (keyof typeof this.index)[]) {
      for (const [value, numbers] of this.index[field]) {
        names.push(INDEX_PREFIX[field] + value);
        eventNumbers.push(numbersText(numbers));
      }
    }
    return { chunks: this.chunks, times: this.times, names, eventNumbers };
  }

  private endChunk(): void {
    this.chunks.push(this.lines.join('\n'));
    this.times.push(this.minMs, this.maxMs);
    this.lines = [];
    this.minMs = FOREVER_MS;
    this.maxMs = -FOREVER_MS;
  }
}

/** By field and value: the numbers of the events that have the value, counted from 1. */
const newIndex = () => ({
  event_type: new Map<string, number[]>(),
  subject: new Map<string, number[]>(),
  task_id: new Map<string, number[]>(),
  feature_id: new Map<string, number[]>(),
  edge: new Map<string, number[]>(),
  agent_id: new Map<string, number[]>(),
  session_id: new Map<string, number[]>(),
});

/** Ascending numbers as text, consecutive ones as a range. */
function numbersText(numbers: readonly number[]): string {
  let text = '';
  let first = numbers[0] as number;
  for (let index = 1; index <= numbers.length; index += 1) {
    const previous = numbers[index - 1] as number;
    if (numbers[index] === previous + 1) continue;
    text += `${text === '' ? '' : ','}${rangeText(first, previous)}`;
    first = numbers[index] as number;
  }
  return text;
}

export const rangeText = (first: number, last: number): string =>
  first === last ? `${first}` : `${first}-${last}`;
