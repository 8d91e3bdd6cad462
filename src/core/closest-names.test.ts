import { expect, it } from 'vitest';
import { closestNames } from './closest-names.js';

it('finds the names within a typo’s distance, nearest first', () => {
  const names = ['all_intent_aspects', 'all_intents', 'type_check', 'type_checks'];
  expect(closestNames('all_intent_aspect', names)).toEqual(['all_intent_aspects']);
  expect(closestNames('typecheck', names)).toEqual(['type_check', 'type_checks']);
  expect(closestNames('lint', names)).toEqual([]);
  expect(closestNames('x', [])).toEqual([]);
  const many = Array.from({ length: 20_000 }, (_, index) => `project-${index}`);
  expect(closestNames('projekt-19', many)[0]).toBe('project-19');
});
