import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../events/envelope.js';
import { isApprovedByHuman } from './human-approval.js';

const SHA = 'a'.repeat(64);
const reviewEvent = (fields: object): EventEnvelope =>
  ({ subject: 'REQ-F-A#design_code', generation: 2, agent_id: 'alpha', seq: 4, ...fields }) as EventEnvelope;
const accepted = reviewEvent({ event_type: 'edge_converged', position: 9, payload: { result_sha256: SHA } });
const approval = reviewEvent({
  event_type: 'review_completed',
  position: 8,
  payload: { decision: 'APPROVED', candidate_sha256: SHA },
});

describe('the approval of a result by a person', () => {
  it('is given by a review or an adoption, or if a person is the author', () => {
    expect(isApprovedByHuman(accepted, [approval])).toBe(true);
    expect(isApprovedByHuman({ ...accepted, event_type: 'result_adopted' }, [])).toBe(true);
    expect(isApprovedByHuman({ ...accepted, agent_role: 'human' }, [])).toBe(true);
  });

  it.each([
    ['was not reviewed', []],
    ['was rejected', [{ ...approval, payload: { ...approval.payload, decision: 'REJECTED' } }]],
    ['is another candidate', [{ ...approval, payload: { ...approval.payload, candidate_sha256: 'b' } }]],
    ['is of another generation', [{ ...approval, generation: 1 }]],
    ['is of another subject', [{ ...approval, subject: 'REQ-F-B#design_code' }]],
    ['was approved later', [{ ...approval, position: 10 }]],
    ['was approved by an event without a seq', [{ ...approval, seq: undefined }]],
    ['was approved by an event of another type', [{ ...approval, event_type: 'note_added' }]],
  ] as [string, EventEnvelope[]][])('is missing if the result %s', (_, reviews) => {
    expect(isApprovedByHuman(accepted, reviews)).toBe(false);
  });
});
