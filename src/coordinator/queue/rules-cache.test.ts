import { expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../core/claims/policy.js';
import type { RecordHead } from '../../core/record.js';
import { LOSS_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import { RulesCache } from './rules-cache.js';

const policyRecord = (max_attempts: number): RecordHead => ({
  subject: POLICY_SUBJECT,
  seq: 1,
  value: { max_attempts },
  last_at_ms: 0,
});

it('keeps the rules until the policy or the limits change', () => {
  const cache = new RulesCache(7);
  const record = policyRecord(3);
  const first = cache.get(record, null, DEFAULT_LIMITS);
  expect(cache.get(record, null, DEFAULT_LIMITS)).toBe(first);
  expect(first.of('A-001-work')).toMatchObject({ max_attempts: 3, skew_margin_ms: 7 });
  expect(cache.get(policyRecord(4), null, DEFAULT_LIMITS).of('A-001-work').max_attempts).toBe(4);
  const limits = { ...DEFAULT_LIMITS, max_generations_per_task: 2 };
  expect(cache.get(record, null, limits).of('A-001-work').max_generations_per_task).toBe(2);
  const loss = { ...record, subject: LOSS_SUBJECT, value: { generation_floor: 9 } };
  expect(cache.get(record, loss, limits).of('A-001-work').generation_floor).toBe(9);
});
