import { expect, it } from 'vitest';
import { CATALOGUE } from './catalogue.js';
import { CATALOGUE_TYPES } from './catalogue-types.js';

it('names every type of the catalogue, and no other', () => {
  expect([...CATALOGUE_TYPES].sort()).toEqual([...CATALOGUE.keys()].sort());
});
