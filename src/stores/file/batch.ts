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

export function encodeBatch(units: readonly WaitingUnit[], prev: string, durable: number): EncodedBatch {
  const texts: string[] = [];
  const placed: { event: EventEnvelope; offset: number }[] = [];
  let hash = prev;
  let offset = 0;
  for (const { events, record } of units) {
    const parts = Math.max(events.length, 1);
    for (let part = 1; part <= parts; part += 1) {
      const event = events[part - 1] ?? null;
      const place = { prev: hash, part, parts, durable: texts.length === 0 ? durable : undefined };
      const line = encodeLine(event, place, part === parts ? record : null);
      if (event !== null) placed.push({ event, offset });
      texts.push(line.text);
      hash = line.hash;
      offset += Buffer.byteLength(line.text);
    }
  }
  return { bytes: Buffer.from(texts.join('')), hash, placed };
}
