import { InvalidArgumentError } from 'commander';

/** Parsers that commander calls for option values. An invalid value is a usage error. */

export function parseWholeNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number))
    throw new InvalidArgumentError('Expected a whole number.');
  return number;
}

/** Parses whole seconds, or a number with a unit: `300`, `90s`, `5m`, `2h`, `30d`. */
export function parseSeconds(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text);
  if (match === null) throw new InvalidArgumentError('Expected seconds, as in 300, 90s, 5m, 2h or 30d.');
  return Number(match[1]) * (UNIT_SECONDS[match[2] ?? ''] ?? 1);
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export function parseWaitSeconds(text: string): number {
  const number = parseSeconds(text);
  if (number > 30) throw new InvalidArgumentError('At most 30 seconds at a time.');
  return number;
}

/** Collects the values of a repeatable option. */
export const collectOption = (value: string, before: readonly string[] = []): string[] => [...before, value];

type DefinedFields<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** A copy without undefined fields. */
export const withoutUndefined = <T extends object>(options: T): DefinedFields<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as DefinedFields<T>;
