import { expect, it } from 'vitest';
import { type EntryKind, findEntries, type PaletteEntry } from './entries.js';

const entry = (kind: EntryKind, name: string, detail = ''): PaletteEntry => ({
  kind,
  name,
  detail,
  open: () => {},
});
const ENTRIES = [
  entry('view', 'Plan: list', 'tasks'),
  entry('command', 'Use the dark theme'),
  entry('task', 'B-001-plan', 'write the plan'),
  entry('task', 'A-001-x', 'a plan of the parser'),
  entry('agent', 'plan', 'active'),
];
const namesOf = (text: string, max = 50): string[] =>
  findEntries(ENTRIES, text, max).shown.map(({ name }) => name);

it('shows views and commands before anything is typed', () => {
  expect(namesOf('')).toEqual(['Plan: list', 'Use the dark theme']);
  expect(namesOf('  ')).toEqual(['Plan: list', 'Use the dark theme']);
});

it('shows the best match first: the name, its beginning, a part of it, other fields', () => {
  expect(namesOf('PLAN')).toEqual(['plan', 'Plan: list', 'B-001-plan', 'A-001-x']);
});

it('finds the entries that have every word', () => {
  expect(namesOf('parser a-001')).toEqual(['A-001-x']);
  expect(namesOf('parser b-001')).toEqual([]);
});

it('counts the matches that it does not show', () => {
  expect(findEntries(ENTRIES, 'plan', 1)).toMatchObject({ shown: [{ name: 'plan' }], moreCount: 3 });
  expect(findEntries(ENTRIES, '', 1)).toMatchObject({ moreCount: 1 });
  expect(findEntries(ENTRIES, 'plan', 10).moreCount).toBe(0);
});
