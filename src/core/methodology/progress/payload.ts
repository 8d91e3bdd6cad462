import type { EventEnvelope } from '../../events/envelope.js';
import { canonicalEdge } from '../definition/edge-name.js';

type PayloadFields = Readonly<Record<string, unknown>>;

const NAME_LENGTH_MAX = 256;
const SENTENCE_LENGTH_MAX = 500;

/**
 * A field of a payload, not validated. The reader of foreign logs (`core/events/read-flat.ts`) normally moves the fields of
 * `data` into the payload. If a name is in both, it leaves `data` as it is, so `data` is searched second.
 */
export function payloadField(payload: PayloadFields, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  const { data } = payload;
  return isFields(data) && Object.hasOwn(data, name) ? data[name] : undefined;
}

/** The first of these fields that is a string of an accepted length. */
function textIn(payload: PayloadFields, names: readonly string[], lengthMax: number): string | null {
  for (const name of names) {
    const value = payloadField(payload, name);
    if (typeof value === 'string' && value !== '' && value.length <= lengthMax) return value;
  }
  return null;
}

/** A text of at most the length of a name. Longer texts are ignored. */
export const shortTextIn = (payload: PayloadFields, ...names: readonly string[]): string | null =>
  textIn(payload, names, NAME_LENGTH_MAX);

/** Human-readable text, truncated so that it does not grow the state. */
export const truncatedTextIn = (payload: PayloadFields, ...names: readonly string[]): string | null =>
  textIn(payload, names, Number.POSITIVE_INFINITY)?.slice(0, SENTENCE_LENGTH_MAX) ?? null;

/** A count, from 0; null for anything else, such as -1, which some writers use for unknown. */
export function countIn(payload: PayloadFields, name: string): number | null {
  const value = payloadField(payload, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

export function edgeIn(payload: PayloadFields, ...names: readonly string[]): string | null {
  const edgeName = shortTextIn(payload, ...names);
  return edgeName === null ? null : canonicalEdge(edgeName);
}

export const featureIdOf = ({ feature_id, payload }: EventEnvelope): string | null =>
  feature_id === undefined ? shortTextIn(payload, 'feature', 'feature_id') : withinNameLength(feature_id);

export function edgeIdOf({ edge, payload }: EventEnvelope): string | null {
  if (edge === undefined) return edgeIn(payload, 'edge');
  return withinNameLength(edge) === null ? null : canonicalEdge(edge);
}

export const isFields = (value: unknown): value is PayloadFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const withinNameLength = (name: string): string | null => (name.length <= NAME_LENGTH_MAX ? name : null);
