import { expect, it } from 'vitest';
import { closestName } from './closest-name.js';

it('finds the closest name within a typo’s distance, and null if there is none', () => {
  const names = ['all_intent_aspects', 'all_intents', 'type_check'];
  expect(closestName('all_intent_aspect', names)).toBe('all_intent_aspects');
  expect(closestName('typecheck', names)).toBe('type_check');
  expect(closestName('lint', names)).toBeNull();
  expect(closestName('x', [])).toBeNull();
});
