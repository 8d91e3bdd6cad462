import { READINESS } from '../../../../src/core/contract/values.js';
import type { SubjectRow } from './plan-tasks.js';

export const SORTS = ['id', 'state', 'agent', 'generation'] as const;
type Sort = (typeof SORTS)[number];

interface ListFilter {
  readonly text: string;
  readonly track: string;
  readonly state: string;
  readonly agent: string;
  readonly sort: Sort;
  readonly isDescending: boolean;
}

export function filterFrom(query: URLSearchParams): ListFilter {
  const read = (name: string): string => query.get(name) ?? '';
  return {
    text: read('text'),
    track: read('track'),
    state: read('state'),
    agent: read('agent'),
    sort: SORTS.find((sort) => sort === query.get('sort')) ?? 'id',
    isDescending: query.get('order') === 'desc',
  };
}

/** Rows in the order of their ids. */
export const sortedById = (rows: readonly SubjectRow[]): SubjectRow[] =>
  rows.toSorted((a, b) => compareText(a.id, b.id));

/** The rows that match, sorted. Text is searched in id and description. `rows` are in the order of their ids. */
export function filterRows(rows: readonly SubjectRow[], filter: ListFilter): SubjectRow[] {
  const text = filter.text.trim().toLowerCase();
  const matches = rows.filter(
    (row) =>
      (filter.track === '' || row.track === filter.track) &&
      (filter.state === '' || row.readiness === filter.state) &&
      (filter.agent === '' || row.holder === filter.agent) &&
      (text === '' || row.id.toLowerCase().includes(text) || row.description.toLowerCase().includes(text)),
  );
  const compare = COMPARE[filter.sort];
  // Sorting is stable: rows that compare as equal stay in the order of their ids.
  if (filter.sort !== 'id') matches.sort(compare);
  return filter.isDescending ? matches.reverse() : matches;
}

type Compare = (a: SubjectRow, b: SubjectRow) => number;

const COMPARE: Readonly<Record<Sort, Compare>> = {
  id: () => 0,
  state: (a, b) => READINESS.indexOf(a.readiness) - READINESS.indexOf(b.readiness),
  // Work that no agent holds comes last.
  agent: (a, b) => Number(a.holder === '') - Number(b.holder === '') || compareText(a.holder, b.holder),
  generation: (a, b) => a.generation - b.generation,
};

/** Compares the numbers in ids as numbers: `::10` comes after `::9`. */
const collator = new Intl.Collator('en', { numeric: true });
const compareText = (a: string, b: string): number => collator.compare(a, b);
