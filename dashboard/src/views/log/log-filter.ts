import { actorId } from '../../model/actor-name.js';

/** The filter of the log. All its fields are part of the address. */
export interface LogFilter {
  readonly type: string;
  readonly subject: string;
  readonly agent: string;
  readonly session: string;
  /** ISO-8601, UTC. */
  readonly since: string;
  readonly until: string;
}

export const NO_FILTER: LogFilter = { type: '', subject: '', agent: '', session: '', since: '', until: '' };

/** The parameters of the operation, by field of the filter. */
const PARAMETERS = {
  type: 'type',
  subject: 'task_id',
  agent: 'agent_id',
  session: 'session_id',
  since: 'since',
  until: 'until',
} as const satisfies Record<keyof LogFilter, string>;

export const FILTER_NAMES = Object.keys(PARAMETERS) as (keyof LogFilter)[];

export const readFilter = (query: URLSearchParams): LogFilter =>
  Object.fromEntries(FILTER_NAMES.map((name) => [name, query.get(name) ?? ''])) as unknown as LogFilter;

/** A filter as query of the operations that list events. */
export const filterQuery = (filter: LogFilter): Record<string, string> =>
  Object.fromEntries(
    FILTER_NAMES.flatMap((name) => {
      const value = name === 'agent' ? actorId(filter.agent) : filter[name];
      return value === '' ? [] : [[PARAMETERS[name], value]];
    }),
  );

/** A position from the address. Null: the present. */
export function readPosition(text: string | null): number | null {
  const position = Number(text);
  return text !== null && Number.isSafeInteger(position) && position >= 1 ? position : null;
}

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** What an input of type `datetime-local` shows for a UTC time. */
export function toLocalInput(iso: string): string {
  const at = new Date(iso);
  if (iso === '' || Number.isNaN(at.getTime())) return '';
  const day = `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;
  return `${day}T${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}:${twoDigits(at.getSeconds())}`;
}

export function fromLocalInput(text: string): string {
  const at = new Date(text);
  return text === '' || Number.isNaN(at.getTime()) ? '' : at.toISOString();
}
