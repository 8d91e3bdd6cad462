import { describe, expect, it } from 'vitest';
import type { ClaimEventPayloads } from '../events/claim-payload-schemas.js';
import { submittedResultOf } from './evolve.js';
import {
  ada,
  escalated,
  expired,
  granted,
  headAfter,
  type PastEventBuilder,
  released,
  resultPayload,
  TASK,
} from './testing/given.js';

const failedOnce: readonly PastEventBuilder[] = [
  granted(ada, 0),
  released(1, { reason: 'ERROR' }),
  granted(ada, 9),
];
const failuresAfter = (...history: readonly PastEventBuilder[]): number => headAfter(TASK, history).failures;
const releasedFor = (reason: ClaimEventPayloads['released']['reason']) => released(400, { reason });

describe('the failure count of a task', () => {
  it('starts again after a voluntary or a forced release', () => {
    expect(failuresAfter(...failedOnce)).toBe(1);
    expect(failuresAfter(...failedOnce, releasedFor('VOLUNTARY'))).toBe(0);
    expect(failuresAfter(...failedOnce, releasedFor('FORCED'))).toBe(0);
    expect(failuresAfter(...failedOnce, expired(309), releasedFor('FORCED'))).toBe(0);
  });

  it('stays when a session closes, or when an expired claim is released', () => {
    expect(failuresAfter(...failedOnce, releasedFor('SESSION_CLOSED'))).toBe(1);
    expect(failuresAfter(...failedOnce, expired(309), releasedFor('VOLUNTARY'))).toBe(2);
  });

  it('no longer counts the expiry of a claim whose late result is escalated', () => {
    expect(failuresAfter(...failedOnce, expired(309), escalated(320))).toBe(1);
    expect(failuresAfter(...failedOnce, escalated(20))).toBe(1);
  });
});

describe('a submitted result', () => {
  const fields = { ...resultPayload('aa11', 1, TASK), iteration: 1 };

  it('has no evidence if only its iteration is known', () => {
    expect(submittedResultOf(fields)).not.toHaveProperty('evidence');
  });

  it('has evidence if its context or its checks are known', () => {
    expect(submittedResultOf({ ...fields, context_hash: 'sha256:11' }).evidence).toEqual({
      iteration: 1,
      context_hash: 'sha256:11',
    });
    expect(submittedResultOf({ ...fields, convergence_type: 'standard' }).evidence).toEqual({
      iteration: 1,
      convergence_type: 'standard',
    });
  });
});
