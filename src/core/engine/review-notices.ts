import type { PendingReview } from '../contract/reviews.js';
import type { EngineSettings } from '../methodology/definition/engine-settings.js';

/** Notices of a review that waits, in the order in which they become due. */
export const NOTICE_KINDS = ['requested', 'reminder', 'deadline'] as const;
type NoticeKind = (typeof NOTICE_KINDS)[number];
export type ReviewSettings = NonNullable<EngineSettings['review']>;

export interface ReviewNotice {
  readonly kind: NoticeKind;
  /** The number of a reminder, from 1; otherwise 0. */
  readonly number: number;
}

const DAY_MS = 24 * 3600 * 1000;

/** The time from which a review is overdue: after `deadline_days`, if set, but at the end of the suspension at the latest. */
export function reviewDeadlineMs(
  openedAtMs: number,
  suspendedUntilMs: number,
  { deadline_days }: Pick<ReviewSettings, 'deadline_days'> = {},
): number {
  return deadline_days === undefined
    ? suspendedUntilMs
    : Math.min(openedAtMs + Math.round(deadline_days * DAY_MS), suspendedUntilMs);
}

type ReviewTimes = Pick<PendingReview, 'since' | 'deadline'>;

/**
 * The last notice whose time has come. Only this one is sent: after a long interruption a reviewer gets one message and
 * not all that were missed.
 */
export function currentNotice(
  { since, deadline }: ReviewTimes,
  { remind_after_days = [] }: Pick<ReviewSettings, 'remind_after_days'>,
  nowMs: number,
): ReviewNotice {
  const deadlineMs = deadline === null ? Number.POSITIVE_INFINITY : Date.parse(deadline);
  if (nowMs >= deadlineMs) return { kind: 'deadline', number: 0 };
  const sinceMs = Date.parse(since);
  const dueReminders = [...new Set(remind_after_days)].filter((days) => sinceMs + days * DAY_MS <= nowMs);
  return dueReminders.length === 0
    ? { kind: 'requested', number: 0 }
    : { kind: 'reminder', number: dueReminders.length };
}

/** Identifies the review of one candidate. */
export type ReviewIdentity = Pick<PendingReview, 'task_id' | 'generation' | 'iteration' | 'candidate_sha256'>;

/** What identifies a notice. Its id derives from this, so every coordinator gives the notice the same id. */
export const noticeNameOf = (
  { task_id, generation, iteration, candidate_sha256 }: ReviewIdentity,
  { kind, number }: ReviewNotice,
): readonly (string | number)[] => [task_id, generation, iteration, candidate_sha256, kind, number];

/** Pauses after failed tries. With the first try, this makes five tries in about an hour. */
const RETRY_PAUSES_SECONDS = [60, 240, 900, 2400] as const;

/** The time at which a notice is tried again; null if no further try is made. */
export function retryAtMs(failedTries: number, nowMs: number): number | null {
  const seconds = RETRY_PAUSES_SECONDS[failedTries - 1];
  return seconds === undefined ? null : nowMs + seconds * 1000;
}
