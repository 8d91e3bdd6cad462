import type { EventEnvelope } from '../events/envelope.js';
import { canonicalEdge } from '../graph/edge-name.js';

type Fields = Readonly<Record<string, unknown>>;

const NAME_LENGTH_MAX = 256;
const SENTENCE_LENGTH_MAX = 500;

/**
 * A field of a payload that nobody has checked. Where a foreign line used one name at its top and inside `data`, the
 * reader has kept `data` whole, so it is looked into as well.
 */
export function fieldOf(payload: Fields, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  const { data } = payload;
  return isFields(data) && Object.hasOwn(data, name) ? data[name] : undefined;
}

/** A short text, or nothing: what is longer than any name is none. */
export function nameIn(payload: Fields, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = fieldOf(payload, name);
    if (typeof value === 'string' && value !== '' && value.length <= NAME_LENGTH_MAX) return value;
  }
  return null;
}

/** What somebody wrote for people, cut so that no state grows with it. */
export function sentenceIn(payload: Fields, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = fieldOf(payload, name);
    if (typeof value === 'string' && value !== '') return value.slice(0, SENTENCE_LENGTH_MAX);
  }
  return null;
}

/** A count, or nothing: the -1 of some writers means that they do not know. */
export function countIn(payload: Fields, name: string): number | null {
  const value = fieldOf(payload, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

export function edgeIn(payload: Fields, ...names: readonly string[]): string | null {
  const named = nameIn(payload, ...names);
  return named === null ? null : canonicalEdge(named);
}

export const featureOf = ({ feature_id, payload }: EventEnvelope): string | null =>
  feature_id === undefined ? nameIn(payload, 'feature', 'feature_id') : bounded(feature_id);

export function edgeOf({ edge, payload }: EventEnvelope): string | null {
  if (edge === undefined) return edgeIn(payload, 'edge');
  return bounded(edge) === null ? null : canonicalEdge(edge);
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const bounded = (name: string): string | null => (name.length <= NAME_LENGTH_MAX ? name : null);
