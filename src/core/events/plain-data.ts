export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const DEPTH_MAX = 32;
/** Names of fields that could reach a prototype. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Why a value is not plain data that every reader can process; null if it is. */
export function plainDataFault(value: unknown, depthLeft = DEPTH_MAX): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (depthLeft === 0) return `it is nested more than ${DEPTH_MAX} deep`;
  for (const key of Object.keys(value)) {
    if (FORBIDDEN_KEYS.has(key)) return `it has a field called ${key}`;
    const fault = plainDataFault((value as JsonObject)[key], depthLeft - 1);
    if (fault !== null) return fault;
  }
  return null;
}
