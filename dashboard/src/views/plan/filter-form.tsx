import { useMemo } from 'react';
import { READINESS } from '../../../../src/core/contract/values.js';
import { useHashQuery } from '../../components/hash-location.js';
import { filterFrom, SORTS } from './list-filter.js';
import type { SubjectRow } from './plan-tasks.js';

/** Filter and order of the list. They are in the address. */
export function FilterForm({ rows }: { rows: readonly SubjectRow[] }) {
  const [query, change] = useHashQuery();
  const { text, track, state, agent, sort, isDescending } = filterFrom(query);
  const tracks = useMemo(() => distinctValues(rows.map((row) => row.track)), [rows]);
  const agents = useMemo(() => distinctValues(rows.map((row) => row.holder)), [rows]);
  return (
    <form className="row plan-filter" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <label>
        Text
        <input type="search" value={text} onChange={(event) => change({ text: event.target.value })} />
      </label>
      <Choice name="Track" value={track} values={tracks} onChange={(value) => change({ track: value })} />
      <Choice name="State" value={state} values={READINESS} onChange={(value) => change({ state: value })} />
      <Choice name="Agent" value={agent} values={agents} onChange={(value) => change({ agent: value })} />
      <label>
        Sort by
        <select value={sort} onChange={(event) => change({ sort: event.target.value })}>
          {SORTS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label>
        Order
        <select
          value={isDescending ? 'desc' : ''}
          onChange={(event) => change({ order: event.target.value })}
        >
          <option value="">ascending</option>
          <option value="desc">descending</option>
        </select>
      </label>
    </form>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly value: string;
  readonly values: readonly string[];
  readonly onChange: (value: string) => void;
}

/** A chosen value stays visible even if no task has it any more. */
const Choice = ({ name, value, values, onChange }: ChoiceProps) => (
  <label>
    {name}
    <select value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">all</option>
      {distinctValues([value, ...values]).map((each) => (
        <option key={each}>{each}</option>
      ))}
    </select>
  </label>
);

const distinctValues = (values: readonly string[]): string[] =>
  [...new Set(values)].filter((value) => value !== '').sort();
