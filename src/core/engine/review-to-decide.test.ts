import { expect, it } from 'vitest';
import type { PendingReview } from '../contract/reviews.js';
import type { RunSummary } from '../contract/runs.js';
import { reviewToDecide } from './review-to-decide.js';

const TASK = 'REQ-F-A-001#design_code';
const review = (overdue: boolean) => ({ task_id: TASK, overdue }) as PendingReview;
const run = (status: RunSummary['status']) => ({ task_id: TASK, status }) as RunSummary;

it('names the review of the edge that waits for a decision', () => {
  expect(reviewToDecide([review(false)], [run('WAITING')], TASK)).toEqual(review(false));
  expect(reviewToDecide([review(false)], [], 'REQ-F-A-001#code_unit_tests')).toBeUndefined();
  expect(reviewToDecide([], [run('WAITING')], TASK)).toBeUndefined();
});

it('lets a waiting run continue after the deadline, but starts no new run', () => {
  expect(reviewToDecide([review(true)], [run('WAITING')], TASK)).toBeUndefined();
  expect(reviewToDecide([review(true)], [run('ESCALATED')], TASK)).toEqual(review(true));
  const elsewhere = { ...run('WAITING'), task_id: 'REQ-F-B-001#design_code' };
  expect(reviewToDecide([review(true)], [elsewhere], TASK)).toEqual(review(true));
});
