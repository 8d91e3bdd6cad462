import type { NewEvent } from '../../core/events/envelope.js';
import type { UnitRecord } from '../ledger.js';
import { encodeLine, type LinePlace } from './line.js';

/** A unit that memory has taken and the disk has not yet. */
export interface WaitingUnit {
  readonly events: readonly NewEvent[];
  readonly first_position: number;
  readonly record: UnitRecord;
}

/** Units that one write and one sync make durable together, and those who wait for that. */
export class Batch {
  readonly units: WaitingUnit[] = [];
  /** The store's time at the last of them. */
  at_ms = 0;
  readonly durable: Promise<void>;
  resolve!: () => void;
  reject!: (error: Error) => void;

  constructor() {
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Somebody waits for every batch that has units; the failure of one that nobody asked about is told elsewhere.
    this.durable.catch(() => {});
  }
}

export interface EncodedBatch {
  readonly bytes: Buffer;
  readonly hash: string;
  /** The events in order, and where the line of each begins, counted from the start of the batch. */
  readonly events: readonly NewEvent[];
  readonly offsets: readonly number[];
}

export function encodeBatch(
  { units, at_ms }: Pick<Batch, 'units' | 'at_ms'>,
  prev: string,
  durable: number,
): EncodedBatch {
  const texts: string[] = [];
  const lines: (NewEvent | null)[] = [];
  let hash = prev;
  let length = 0;
  for (const { events, first_position, record } of units) {
    const parts = Math.max(events.length, 1);
    for (let part = 1; part <= parts; part += 1) {
      const event = events[part - 1] ?? null;
      const place: LinePlace = { prev: hash, position: first_position + part - 1, part, parts };
      const line = encodeLine(
        event,
        texts.length === 0 ? { ...place, durable, at_ms } : place,
        part === parts ? record : null,
      );
      texts.push(line.text);
      lines.push(event);
      hash = line.hash;
      length += line.text.length;
    }
  }
  return { hash, ...laidOut(texts, lines, length) };
}

/** A character takes at most three bytes. Written one after the other, the lines tell their offsets by themselves. */
function laidOut(texts: readonly string[], lines: readonly (NewEvent | null)[], length: number) {
  const buffer = Buffer.allocUnsafe(length * 3);
  const events: NewEvent[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (let index = 0; index < texts.length; index += 1) {
    const event = lines[index] ?? null;
    if (event !== null) {
      events.push(event);
      offsets.push(offset);
    }
    offset += buffer.write(texts[index] as string, offset);
  }
  return { bytes: buffer.subarray(0, offset), events, offsets };
}
