import { expect, it } from 'vitest';
import { plainDataFault } from './plain-data.js';

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

it('accepts values that are nested up to 32 deep', () => {
  expect(plainDataFault(nested(32))).toBeNull();
  expect(plainDataFault(nested(33))).toBe('it is nested more than 32 deep');
});
