import type { EventEnvelope } from '../../core/events/envelope.js';
import type { UnitRecord } from '../ledger.js';
import { encodeLine } from './line.js';

/** A unit that memory has taken and the disk has not yet. */
export interface WaitingUnit {
  readonly events: readonly EventEnvelope[];
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
  /** Each event with where its line begins, counted from the start of the batch. */
  readonly placed: readonly { readonly event: EventEnvelope; readonly offset: number }[];
}

export function encodeBatch(
  { units, at_ms }: Pick<Batch, 'units' | 'at_ms'>,
  prev: string,
  durable: number,
): EncodedBatch {
  const texts: string[] = [];
  const events: (EventEnvelope | null)[] = [];
  let hash = prev;
  let length = 0;
  for (const unit of units) {
    const parts = Math.max(unit.events.length, 1);
    for (let part = 1; part <= parts; part += 1) {
      const event = unit.events[part - 1] ?? null;
      const first = texts.length === 0 ? { durable, at_ms } : undefined;
      const place = { prev: hash, part, parts, ...first };
      const line = encodeLine(event, place, part === parts ? unit.record : null);
      texts.push(line.text);
      events.push(event);
      hash = line.hash;
      length += line.text.length;
    }
  }
  return { hash, ...laidOut(texts, events, length) };
}

/** A character takes at most three bytes. Written one after the other, the lines tell their offsets by themselves. */
function laidOut(texts: readonly string[], events: readonly (EventEnvelope | null)[], length: number) {
  const buffer = Buffer.allocUnsafe(length * 3);
  const placed: { event: EventEnvelope; offset: number }[] = [];
  let offset = 0;
  for (const [index, text] of texts.entries()) {
    const event = events[index] ?? null;
    if (event !== null) placed.push({ event, offset });
    offset += buffer.write(text, offset);
  }
  return { bytes: buffer.subarray(0, offset), placed };
}
