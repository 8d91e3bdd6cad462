import { type FormEvent, useState } from 'react';
import { CATALOGUE_TYPES } from '../../../../src/core/events/known-event-types.js';
import { fromLocalInput, type LogFilter, NO_FILTER, toLocalInput } from './log-filter.js';

const TEXT_FIELDS = [
  ['type', 'Type', 'edge_started'],
  ['subject', 'Subject', 'task or edge'],
  ['agent', 'Agent', ''],
  ['session', 'Session', ''],
] as const;
const TIME_FIELDS = [
  ['since', 'From'],
  ['until', 'To'],
] as const;

interface Props {
  readonly filter: LogFilter;
  readonly onChange: (filter: Readonly<Record<string, string>>) => void;
}

/** Enter or the button applies the typed filter, which is then part of the address. */
export function FilterForm({ filter, onChange }: Props) {
  const [draft, setDraft] = useState(filter);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange({ ...draft });
  };
  const setField = (name: keyof LogFilter, value: string) =>
    setDraft((before) => ({ ...before, [name]: value }));
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return (
    <form className="card log-filter" aria-label="Filter" onSubmit={submit}>
      {TEXT_FIELDS.map(([name, label, hint]) => (
        <label key={name}>
          {label}
          <input
            value={draft[name]}
            placeholder={hint}
            list={name === 'type' ? 'event-types' : undefined}
            onChange={({ target }) => setField(name, target.value.trim())}
          />
        </label>
      ))}
      {TIME_FIELDS.map(([name, label]) => (
        <label key={name}>
          {label}
          <input
            type="datetime-local"
            step="1"
            value={toLocalInput(draft[name])}
            onChange={({ target }) => setField(name, fromLocalInput(target.value))}
          />
        </label>
      ))}
      <datalist id="event-types">
        {[...CATALOGUE_TYPES].map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      <div className="row">
        <button type="submit" className="primary">
          Filter
        </button>
        <button type="button" disabled={!isFiltered} onClick={() => onChange({ ...NO_FILTER })}>
          Clear
        </button>
      </div>
    </form>
  );
}
