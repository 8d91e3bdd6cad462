import { InvalidArgumentError } from 'commander';
import { WORK_KINDS, type WorkKind } from '../core/contract/values.js';

/** Parses a whole number. Commander calls this and the next parsers for option values; an invalid value is wrong usage. */

export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('Expected a whole number.');
  return value;
}

const PORT_MAX = 65_535;

export function parsePort(text: string): number {
  const port = parseWholeNumber(text);
  if (port > PORT_MAX) throw new InvalidArgumentError(`Expected a port from 0 to ${PORT_MAX}.`);
  return port;
}

/** Parses whole seconds, or a number with a unit: `300`, `90s`, `5m`, `2h`, `30d`. */
export function parseSecondsOption(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text);
  if (match === null) throw new InvalidArgumentError('Expected seconds, such as 300, 90s, 5m, 2h or 30d.');
  return Number(match[1]) * (UNIT_SECONDS[match[2] ?? ''] ?? 1);
}

/** Parses a number of days above 0, also with a fraction: `2`, `0.5`. */
export function parseDays(text: string): number {
  const days = Number(text);
  if (!/^\d{1,4}(\.\d{1,6})?$/.test(text) || days === 0)
    throw new InvalidArgumentError('Expected a number of days, such as 2 or 0.5.');
  return days;
}

export const LEASE_OPTION = {
  '--lease <seconds>': { about: 'lease duration in seconds (or 90s, 5m, 2h)', parse: parseSecondsOption },
} as const;

export const AT_OPTION = {
  '--at <position>': { about: 'show the state at this position of the log', parse: parseWholeNumber },
} as const;

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export function parseWaitSeconds(text: string): number {
  const seconds = parseSecondsOption(text);
  if (seconds > 30) throw new InvalidArgumentError('Expected at most 30 seconds.');
  return seconds;
}

export function parseWorkKind(text: string): WorkKind {
  const kind = WORK_KINDS.find((each) => each === text);
  if (kind === undefined) throw new InvalidArgumentError(`Expected ${WORK_KINDS.join(' or ')}.`);
  return kind;
}

/** Collects the values of a repeatable option. */
export const collectOption = (value: string, earlier: readonly string[] = []): string[] => [
  ...earlier,
  value,
];

/** What a worker claims, and for how long. */
export const WORKER_OPTIONS = {
  '--track <track>': { about: 'only tasks of this track (repeatable)', parse: collectOption },
  '--kind <kind>': { about: 'only tasks, or only edges of features', parse: parseWorkKind },
  '--role <role>': 'agent role to work in',
  '--lease <seconds>': {
    about: 'lease duration in seconds (or 90s, 5m, 2h; default: from the duration of earlier work)',
    parse: parseSecondsOption,
  },
} as const;
