import { InvalidArgumentError } from 'commander';

/** What commander calls to read an option's value: a wrong one is wrong usage. */

export function parseWholeNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number))
    throw new InvalidArgumentError('Expected a whole number.');
  return number;
}

/** Whole seconds, or with a unit: `300`, `90s`, `5m`, `2h`, `30d`. */
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

/** Gathers an option that may be given several times. */
export const collectOption = (value: string, before: readonly string[] = []): string[] => [...before, value];

type DefinedFields<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Without what nobody gave. */
export const withoutUndefined = <T extends object>(options: T): DefinedFields<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as DefinedFields<T>;
