import assert from 'node:assert/strict';

/** The assertions that the suite needs, based on `node:assert` so that the suite runs in any test runner. */
export const expect = (actual: unknown) => ({
  toBe: (expected: unknown): void => assert.strictEqual(actual, expected),
  toBeNull: (): void => assert.strictEqual(actual, null),
  toBeUndefined: (): void => assert.strictEqual(actual, undefined),
  /** Equal in every own field; a field that is undefined counts as missing. */
  toEqual: (expected: unknown): void =>
    assert.deepStrictEqual(dropUndefined(actual), dropUndefined(expected)),
  toStrictEqual: (expected: unknown): void => assert.deepStrictEqual(actual, expected),
  /** Equal in the fields that `expected` has, at every level. Lists have the same length. */
  toMatchObject: (expected: unknown): void =>
    assert.deepStrictEqual(dropUndefined(pickExpected(actual, expected)), dropUndefined(expected)),
  toHaveLength: (length: number): void =>
    assert.strictEqual((actual as { length?: unknown } | null | undefined)?.length, length),
  toMatch: (pattern: RegExp): void => assert.match(actual as string, pattern),
  toBeGreaterThanOrEqual: (least: number): void =>
    assert.ok((actual as number) >= least, `${actual} is less than ${least}`),
  toBeLessThanOrEqual: (most: number): void =>
    assert.ok((actual as number) <= most, `${actual} is more than ${most}`),
});

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);

/** A copy without fields that are undefined. */
function dropUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropUndefined);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries.map(([name, field]) => [name, dropUndefined(field)]));
}

/** The fields of `actual` that `expected` has. */
function pickExpected(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(actual) && Array.isArray(expected))
    return actual.map((value, index) =>
      index < expected.length ? pickExpected(value, expected[index]) : value,
    );
  if (!isRecord(actual) || !isRecord(expected)) return actual;
  const names = Object.keys(expected).filter((name) => Object.hasOwn(actual, name));
  return Object.fromEntries(names.map((name) => [name, pickExpected(actual[name], expected[name])]));
}
