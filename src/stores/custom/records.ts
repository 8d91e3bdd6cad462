import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { followTime, type SteadyClock } from '../clock.js';
import { type LinePermit, permitFromLine, permitToLine } from '../file/line.js';
import type { ApplyResult, TransactionFields } from '../ledger.js';
import type { StoreImage } from '../memory/store-image.js';
import type { ProjectKey, StoreMeta } from '../store.js';

/** What a custom store keeps as one JSON text: the metadata of the store, a transaction, or a redaction. */
export type StoreRecord = ({ readonly kind: 'meta' } & StoreMeta) | StoredTransaction | RedactionRecord;

/** Tells the other coordinators of a store which records were redacted. */
interface RedactionRecord {
  readonly kind: 'redaction';
  readonly numbers: readonly number[];
}

interface StoredTransaction extends ProjectKey {
  readonly kind: 'transaction';
  /** Unique, so that the coordinator that wrote the record recognizes it. */
  readonly id: string;
  readonly at_ms: number;
  readonly events: readonly EventEnvelope[];
  readonly fields: TransactionFields;
}

/** Checks the outer fields of a record. Its events, permits and requests were checked when they were committed. */
const recordSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('meta'),
    incarnation: z.int().min(1),
    secret: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  z.object({ kind: z.literal('redaction'), numbers: z.array(z.int().min(1)) }),
  z.object({
    kind: z.literal('transaction'),
    id: z.string(),
    tenant_id: z.string(),
    project_id: z.string(),
    at_ms: z.int(),
    events: z.array(z.unknown()),
    rules_seq: z.int().optional(),
    permits: z.array(z.unknown()).optional(),
    requests: z.array(z.unknown()).optional(),
  }),
]);

/** The record of a committed transaction; null if there is nothing to write. */
export function storedTransactionOf(
  { tenant_id, project_id }: ProjectKey,
  { events, first_position, fields }: ApplyResult,
  id: string,
  at_ms: number,
): StoredTransaction | null {
  if (fields === null) return null;
  const positioned = events.map((event, index) => ({ position: first_position + index, ...event }));
  return { kind: 'transaction', id, tenant_id, project_id, at_ms, events: positioned, fields };
}

export function textOfRecord(record: StoreRecord): string {
  if (record.kind !== 'transaction') return JSON.stringify(record);
  const { fields, ...rest } = record;
  // JSON has no Infinity, which `permitToLine` replaces.
  return JSON.stringify({ ...rest, ...fields, permits: fields.permits?.map(permitToLine) });
}

/** Null: the text is not a record. */
export function recordFromText(text: string): StoreRecord | null {
  const { data } = recordSchema.safeParse(jsonOf(text));
  if (data === undefined) return null;
  if (data.kind !== 'transaction') return data;
  const { rules_seq, permits, requests, events, ...rest } = data;
  const fields = {
    ...(rules_seq === undefined ? {} : { rules_seq }),
    ...(permits === undefined ? {} : { permits: (permits as LinePermit[]).map(permitFromLine) }),
    ...(requests === undefined ? {} : { requests }),
  } as TransactionFields;
  return { ...rest, events: events as EventEnvelope[], fields };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The record with the redacted events in place of the original ones; null if it has none of them. */
export function withRedacted(
  record: StoreRecord,
  { tenant_id, project_id }: ProjectKey,
  redacted: ReadonlyMap<number, EventEnvelope>,
): StoreRecord | null {
  if (record.kind !== 'transaction' || record.tenant_id !== tenant_id || record.project_id !== project_id)
    return null;
  if (!record.events.some(({ position }) => redacted.has(position))) return null;
  return { ...record, events: record.events.map((event) => redacted.get(event.position) ?? event) };
}

export const eventsByPosition = (events: readonly EventEnvelope[]): ReadonlyMap<number, EventEnvelope> =>
  new Map(events.map((event) => [event.position, event]));

export const newMeta = (): StoreMeta => ({ incarnation: 1, secret: randomBytes(32).toString('hex') });
export const metaOf = ({ incarnation, secret }: StoreMeta): StoreMeta => ({ incarnation, secret });

/** Applies a transaction that was committed earlier, or by another coordinator. */
export function restoreTransaction(
  image: StoreImage,
  clock: SteadyClock,
  { events, fields, at_ms, ...projectKey }: StoredTransaction,
): void {
  followTime(clock, at_ms);
  // The clock that timed the transaction may have been far ahead: its time must not expire permits.
  image.restore(projectKey, events, fields, Math.min(at_ms, clock.now()));
}
