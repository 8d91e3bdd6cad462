import { isoTime } from './envelope.js';

/** A date, and as much of a clock and a zone as there is. */
const WRITTEN =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,12}))?)?\s?(?:(Z)|([+-])(\d\d):?(\d\d)?)?)?$/i;
const TEXT_MAX = 64;
const MINUTE_MS = 60_000;
/** Years that an ISO time writes with four digits. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Logs mix `Z`, `+00:00` and `+11:00`; a time without a zone is taken as UTC, the same on every machine. */
export function utc(written: unknown): string | null {
  if (typeof written !== 'string' || written.length > TEXT_MAX) return null;
  const read = WRITTEN.exec(written.trim());
  if (read === null) return null;
  const [, date, clock = '00:00', seconds = '00', fraction = '0', , sign = '+', hours = '0', minutes = '0'] =
    read;
  const local_ms = Date.parse(`${date}T${clock}:${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}Z`);
  const offset_ms = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  const at_ms = sign === '-' ? local_ms + offset_ms : local_ms - offset_ms;
  return at_ms >= FIRST_MS && at_ms <= LAST_MS ? isoTime(at_ms) : null;
}
