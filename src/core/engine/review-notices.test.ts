import { describe, expect, it } from 'vitest';
import { currentNotice, noticeNameOf, retryAtMs, reviewDeadlineMs } from './review-notices.js';

const DAY_MS = 24 * 3600 * 1000;
const SINCE = '2026-01-04T06:00:00.000Z';
const SINCE_MS = Date.parse(SINCE);
const afterDays = (days: number): number => SINCE_MS + days * DAY_MS;
const isoAfterDays = (days: number): string => new Date(afterDays(days)).toISOString();

describe('the current notice of a review', () => {
  it.each([
    ['at once', 0, [1, 3], 7, 'requested', 0],
    ['just before the first reminder', 0.999, [1, 3], 7, 'requested', 0],
    ['at the first reminder', 1, [1, 3], 7, 'reminder', 1],
    ['between two reminders', 2.5, [1, 3], 7, 'reminder', 1],
    ['at the second reminder, in any order', 3, [3, 1], 7, 'reminder', 2],
    ['at two reminders with the same time', 1, [1, 1, 3], 7, 'reminder', 1],
    ['just before the deadline', 6.999, [1, 3], 7, 'reminder', 2],
    ['at the deadline', 7, [1, 3], 7, 'deadline', 0],
    ['after a reminder that comes after the deadline', 9, [8], 7, 'deadline', 0],
    ['without reminders', 6, [], 7, 'requested', 0],
    ['without a deadline', 400, [1], null, 'reminder', 1],
  ] as const)('is the expected one %s', (_, days, reminders, deadline, kind, number) => {
    const review = { since: SINCE, deadline: deadline === null ? null : isoAfterDays(deadline) };
    const settings = { remind_after_days: [...reminders] };
    expect(currentNotice(review, settings, afterDays(days))).toEqual({ kind, number });
  });

  it('has a different name for each candidate, kind and number', () => {
    const review = { task_id: 'F#e', generation: 1, iteration: 1, candidate_sha256: 'a' };
    const reminder = (number: number) => ({ kind: 'reminder', number }) as const;
    const names = [
      noticeNameOf(review, reminder(1)),
      noticeNameOf(review, reminder(2)),
      noticeNameOf(review, { kind: 'requested', number: 0 }),
      noticeNameOf({ ...review, task_id: 'F#f' }, reminder(1)),
      noticeNameOf({ ...review, generation: 2 }, reminder(1)),
      noticeNameOf({ ...review, iteration: 2 }, reminder(1)),
      noticeNameOf({ ...review, candidate_sha256: 'b' }, reminder(1)),
    ].map((name) => JSON.stringify(name));
    expect(new Set(names).size).toBe(names.length);
  });

  it('is tried five times in about an hour', () => {
    const pauses = [1, 2, 3, 4, 5].map((tries) => retryAtMs(tries, 0));
    expect(pauses).toEqual([60_000, 240_000, 900_000, 2_400_000, null]);
  });
});

describe('the deadline of a review', () => {
  it.each([
    ['is the end of the suspension', 14, undefined, 14],
    ['is earlier if the project says so', 14, { deadline_days: 2 }, 2],
    ['is never after the end of the suspension', 14, { deadline_days: 30 }, 14],
  ])('%s', (_, suspended, settings, expected) => {
    expect(reviewDeadlineMs(SINCE_MS, afterDays(suspended), settings)).toBe(afterDays(expected));
  });
});
