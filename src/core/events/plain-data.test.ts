import { expect, it } from 'vitest';
import { plainDataFault } from './plain-data.js';

const nestedObject = (depth: number): unknown => (depth === 0 ? 1 : { a: nestedObject(depth - 1) });

it('accepts values that are nested up to 32 deep', () => {
  expect(plainDataFault(nestedObject(32))).toBeNull();
  expect(plainDataFault(nestedObject(33))).toBe('it is nested more than 32 deep');
});
