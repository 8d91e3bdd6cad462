import { ownValue } from '../../own-value.js';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const NAMED_INTERVALS: Readonly<Record<string, string>> = { hourly: '1h', daily: '1d', weekly: '1w' };
const DURATION_PART =
  /(\d+(?:\.\d+)?)\s*(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?|w(?:eeks?)?)(?![a-z])/g;

const DURATION_LENGTH_MAX = 64;
/** Ten years; a longer duration is most likely a typing error. */
const DURATION_SECONDS_MAX = 10 * 366 * 86_400;

/**
 * Seconds of `90s`, `1h30m`, `4 hours`, `3 weeks`, `1 day 12 hours`, `weekly`; null if the text is not a duration, or not one
 * of at least a second and at most `DURATION_SECONDS_MAX`.
 */
export function parseDuration(text: string): number | null {
  if (text.length > DURATION_LENGTH_MAX) return null;
  const normalized = text.trim().toLowerCase();
  const expanded = ownValue(NAMED_INTERVALS, normalized) ?? normalized;
  // Separates parts without a space between them: `1h30m`.
  const spaced = expanded.replace(/([a-z])(\d)/g, '$1 $2');
  let seconds = 0;
  const unparsed = spaced.replace(DURATION_PART, (_, amount: string, unit: string) => {
    seconds += Number(amount) * (UNIT_SECONDS[unit.charAt(0)] ?? 0);
    return '';
  });
  const wholeSeconds = Math.round(seconds);
  return unparsed.trim() === '' && wholeSeconds > 0 && wholeSeconds <= DURATION_SECONDS_MAX
    ? wholeSeconds
    : null;
}

export interface TimeBoxStatus {
  readonly status: 'none' | 'active' | 'expiring' | 'expired';
  /** Fraction of the time that has passed: 0 at the start, 1 at the end, then more. */
  readonly elapsed: number;
}

const EXPIRING_FROM_FRACTION = 0.75;

/** Status of a time box. A time box that has not started is active, with nothing elapsed. */
export function timeBoxStatus(
  box: { readonly duration_seconds: number; readonly started: string | null } | null,
  nowMs: number,
): TimeBoxStatus {
  if (box === null) return { status: 'none', elapsed: 0 };
  const startedMs = box.started === null ? Number.NaN : parseUtcTime(box.started);
  if (Number.isNaN(startedMs)) return { status: 'active', elapsed: 0 };
  const elapsed = Math.max(0, (nowMs - startedMs) / (box.duration_seconds * 1000));
  if (elapsed >= 1) return { status: 'expired', elapsed };
  return { status: elapsed >= EXPIRING_FROM_FRACTION ? 'expiring' : 'active', elapsed };
}

/** A time without an offset is UTC, so that it means the same on every machine. */
function parseUtcTime(text: string): number {
  const hasNoOffset = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text);
  return Date.parse(hasNoOffset ? `${text.replace(' ', 'T')}Z` : text);
}
