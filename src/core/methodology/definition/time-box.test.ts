import { describe, expect, it } from 'vitest';
import { parseDuration, timeBoxStatus } from './time-box.js';

describe('a duration', () => {
  it.each([
    ['90s', 90],
    ['1h', 3600],
    ['1h30m', 5400],
    ['1h30m15s', 5415],
    ['10 minutes', 600],
    ['10 min', 600],
    ['4 hours', 14_400],
    ['1 hr', 3600],
    ['1 day', 86_400],
    ['1.5 days', 129_600],
    ['1 day 12 hours', 129_600],
    ['3 weeks', 1_814_400],
    ['3 WEEKS', 1_814_400],
    ['hourly', 3600],
    ['daily', 86_400],
    ['weekly', 604_800],
  ])('is parsed from %s', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  it.each([
    '',
    'none',
    'soon',
    '3',
    '0 hours',
    '1 fortnight',
    '1 hour later',
    '-1h',
    '100 years',
    '1x2h',
    '9'.repeat(80),
    'constructor',
    '__proto__',
  ])('is not parsed from %j', (text) => {
    expect(parseDuration(text)).toBeNull();
  });
});

describe('a time box', () => {
  const box = { duration_seconds: 100, started: '2026-01-01T00:00:00.000Z' };
  const start = Date.parse(box.started);

  it.each([
    [-5, 'active', 0],
    [0, 'active', 0],
    [74.999, 'active', 0.74999],
    [75, 'expiring', 0.75],
    [99.999, 'expiring', 0.99999],
    [100, 'expired', 1],
    [250, 'expired', 2.5],
  ])('after %s seconds of 100 is %s', (seconds, status, elapsed) => {
    expect(timeBoxStatus(box, start + seconds * 1000)).toEqual({ status, elapsed });
  });

  it('without a valid start is active, and a missing time box has the status none', () => {
    expect(timeBoxStatus({ duration_seconds: 100, started: null }, start)).toEqual({
      status: 'active',
      elapsed: 0,
    });
    expect(timeBoxStatus({ duration_seconds: 100, started: 'yesterday' }, start).status).toBe('active');
    expect(timeBoxStatus(null, start)).toEqual({ status: 'none', elapsed: 0 });
  });

  it('starts at a UTC time if its start time has no offset', () => {
    expect(timeBoxStatus({ ...box, started: '2026-01-01T00:00:00' }, start + 50_000).elapsed).toBe(0.5);
    expect(timeBoxStatus({ ...box, started: '2026-01-01 00:00' }, start + 50_000).elapsed).toBe(0.5);
  });
});
