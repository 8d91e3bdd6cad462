import { expect, test } from 'vitest';
import { OPERATION_LIST } from '../src/core/contract/operations.js';
import { SECTIONS, withSections } from './api-reference.js';

test('replaces the text between the markers, and nothing else', () => {
  const text = 'before\n<!-- generated: a -->\nstale\n<!-- end -->\nafter\n';
  const fresh = 'before\n<!-- generated: a -->\n\nnew\n\n<!-- end -->\nafter\n';
  expect(withSections(text, { a: () => 'new' })).toBe(fresh);
  expect(withSections(fresh, { a: () => 'new' })).toBe(fresh);
});

test('fails if the markers of a section are missing', () => {
  expect(() => withSections('no markers', { a: () => 'new' })).toThrow('The markers of a are missing.');
});

test('lists every operation, and each refusal with its status and advice', () => {
  expect(SECTIONS.operations?.().split('\n')).toHaveLength(OPERATION_LIST.length + 2);
  expect(SECTIONS.operations?.()).toMatch(/\| `POST P\/claims` +\| Claim a task or an edge +\| work +\|/);
  expect(SECTIONS['claim-refusals']?.()).toMatch(/\| `DENIED_LIMIT` +\| 429 +\| A limit is reached\./);
  expect(SECTIONS.problems?.()).toMatch(/\| 503 +\| `UNAVAILABLE`, `LOG_DAMAGED` +\|/);
});
