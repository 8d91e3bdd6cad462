import { expect, it } from 'vitest';
import { closestName } from './closest-name.js';

it('finds the name that was meant, and none where nothing is near', () => {
  const names = ['all_intent_aspects', 'all_intents', 'type_check'];
  expect(closestName('all_intent_aspect', names)).toBe('all_intent_aspects');
  expect(closestName('typecheck', names)).toBe('type_check');
  expect(closestName('lint', names)).toBeNull();
  expect(closestName('x', [])).toBeNull();
});
