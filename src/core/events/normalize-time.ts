import { isoTime } from './envelope.js';

/** A date with an optional time and zone. */
const TIME_PATTERN =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,12}))?)?\s?(?:(Z)|([+-])(\d\d):?(\d\d)?)?)?$/i;
const TEXT_MAX = 64;
const MINUTE_MS = 60_000;
/** Range of years that ISO times write with four digits. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Converts a time to UTC; null if the value is not a time. Logs mix `Z`, `+00:00` and `+11:00`; a time without a zone is
 * UTC on every machine.
 */
export function normalizeToUtc(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > TEXT_MAX) return null;
  const match = TIME_PATTERN.exec(text.trim());
  if (match === null) return null;
  const [, date, clock = '00:00', seconds = '00', fraction = '0', , sign = '+', hours = '0', minutes = '0'] =
    match;
  const localMs = Date.parse(`${date}T${clock}:${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}Z`);
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  const atMs = sign === '-' ? localMs + offsetMs : localMs - offsetMs;
  return atMs >= FIRST_MS && atMs <= LAST_MS ? isoTime(atMs) : null;
}
