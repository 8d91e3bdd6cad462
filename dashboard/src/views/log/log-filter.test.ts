import { expect, test } from 'vitest';
import {
  filterQuery,
  fromLocalInput,
  NO_FILTER,
  readFilter,
  readPosition,
  toLocalInput,
} from './log-filter.js';

test('names each field of the filter as the operation does, and leaves empty ones out', () => {
  const filter = readFilter(new URLSearchParams('type=edge_started&subject=A-001-x&session=s1&other=1'));
  expect(filter).toEqual({ ...NO_FILTER, type: 'edge_started', subject: 'A-001-x', session: 's1' });
  expect(filterQuery(filter)).toEqual({ type: 'edge_started', task_id: 'A-001-x', session_id: 's1' });
});

test('finds a caller without a key by the name that the page shows', () => {
  expect(filterQuery({ ...NO_FILTER, agent: 'anonymous' })).toEqual({ agent_id: 'open' });
});

test('a time is unchanged after the conversion to and from the input, and an invalid time is empty', () => {
  const iso = '2026-01-02T03:04:05.000Z';
  expect(fromLocalInput(toLocalInput(iso))).toBe(iso);
  expect([toLocalInput(''), toLocalInput('x'), fromLocalInput(''), fromLocalInput('x')]).toEqual([
    '',
    '',
    '',
    '',
  ]);
});

test('reads a position, or the present', () => {
  expect(['7', null, '', '0', '-1', '1.5', 'x'].map(readPosition)).toEqual([7, ...Array(6).fill(null)]);
});
