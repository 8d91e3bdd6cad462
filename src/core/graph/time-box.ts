const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const NAMED_INTERVALS: Readonly<Record<string, string>> = { hourly: '1h', daily: '1d', weekly: '1w' };
const DURATION_PART =
  /(\d+(?:\.\d+)?)\s*(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?|w(?:eeks?)?)(?![a-z])/g;

const DURATION_LENGTH_MAX = 64;
/** Ten years: whoever writes more has mistyped. */
const DURATION_SECONDS_MAX = 10 * 366 * 86_400;

/** Seconds of `90s`, `1h30m`, `4 hours`, `3 weeks`, `1 day 12 hours`, `weekly`; null where it is no duration. */
export function parseDuration(text: string): number | null {
  if (text.length > DURATION_LENGTH_MAX) return null;
  const normalized = text.trim().toLowerCase();
  const expanded = NAMED_INTERVALS[normalized] ?? normalized;
  // Between a number and the next a word boundary need not stand: `1h30m`.
  const spaced = expanded.replace(/([a-z])(\d)/g, '$1 $2');
  let seconds = 0;
  const rest = spaced.replace(DURATION_PART, (_, amount: string, unit: string) => {
    seconds += Number(amount) * (UNIT_SECONDS[unit.charAt(0)] ?? 0);
    return '';
  });
  const whole = Math.round(seconds);
  return rest.trim() === '' && whole > 0 && whole <= DURATION_SECONDS_MAX ? whole : null;
}

export interface TimeBoxStatus {
  readonly status: 'none' | 'active' | 'expiring' | 'expired';
  /** The part of the time that is gone: 0 not begun, 1 all of it. */
  readonly elapsed: number;
}

const EXPIRING_FROM_FRACTION = 0.75;

/** A box that nobody has opened yet is active, and nothing of it is gone. */
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

/** A time without an offset is UTC: it must not mean something else on another machine. */
function parseUtcTime(text: string): number {
  const hasNoOffset = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text);
  return Date.parse(hasNoOffset ? `${text.replace(' ', 'T')}Z` : text);
}
