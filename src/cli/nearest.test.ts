import { expect, it } from 'vitest';
import { nearest } from './nearest.js';

it('finds the name that was meant, and none where nothing is near', () => {
  const names = ['all_intent_aspects', 'all_intents', 'type_check'];
  expect(nearest('all_intent_aspect', names)).toBe('all_intent_aspects');
  expect(nearest('typecheck', names)).toBe('type_check');
  expect(nearest('lint', names)).toBeNull();
  expect(nearest('x', [])).toBeNull();
});
