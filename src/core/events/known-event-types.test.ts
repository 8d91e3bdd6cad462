import { expect, it } from 'vitest';
import { CATALOGUE } from './catalogue.js';
import { CATALOGUE_TYPES } from './known-event-types.js';

it('lists exactly the event types of the catalogue', () => {
  expect([...CATALOGUE_TYPES].sort()).toEqual([...CATALOGUE.keys()].sort());
});
