import { describe, expect, test } from 'vitest';
import { type EventEnvelope, isoTime } from '../events/envelope.js';
import { LIMITS_SUBJECT, TENANT_PROJECT } from '../subject.js';
import { SignatureRequirements, UnsignedCommands } from './unsigned-commands.js';

const START_MS = Date.parse('2026-01-04T06:00:00.000Z');
const atMinute = (minute: number) => isoTime(START_MS + minute * 60_000);

const eventOf = (fields: object): EventEnvelope =>
  ({
    ...{ tenant_id: 'acme', project_id: 'shop', event_id: 'e', position: 9, agent_id: 'a', session_id: 's1' },
    ...{ event_type: 'RESULT_SUBMITTED', subject: 'A-001-core', generation: 1, payload: {} },
    ...fields,
  }) as never;

const limitsAt = (minute: number, position: number, record: object): EventEnvelope =>
  eventOf({
    ...{ project_id: TENANT_PROJECT, subject: LIMITS_SUBJECT, event_type: 'LIMITS_CHANGED' },
    ...{ timestamp: atMinute(minute), position, payload: { record } },
  });

/** Signatures are required from minute 60 to minute 120, while another limit changes. */
function newChecker(): UnsignedCommands {
  const requirements = new SignatureRequirements();
  const changes = [
    limitsAt(0, 1, { max_concurrent_claims: 9 }),
    limitsAt(60, 2, { require_signatures: true }),
    limitsAt(90, 3, { require_signatures: true, max_concurrent_claims: 7 }),
    limitsAt(120, 4, { require_signatures: false }),
  ];
  // A log may be read more than once.
  for (const event of [...changes, ...changes]) requirements.visit(event);
  return new UnsignedCommands(requirements);
}

describe('a command without a signature', () => {
  test.each([
    ['before the requirement', 30, false],
    ['just after it, when another coordinator may not know it yet', 64, false],
    ['under it', 80, true],
    ['while another limit changes', 91, true],
    ['just before it ends', 116, false],
    ['after it', 130, false],
  ])('is found only where a signature was certainly required: %s', (_, minute, isFound) => {
    expect(newChecker().isUnsigned(eventOf({ timestamp: atMinute(minute) }))).toBe(isFound);
  });

  test.each([
    ['an event with a signature', { payload: { signature: 'v1;' } }],
    ['an event of another tenant', { tenant_id: 'other' }],
    ['an event that an operator may have caused', { event_type: 'CLAIM_ACQUIRED' }],
    ['an event that may be a sign of life', { event_type: 'LEASE_RENEWED' }],
    ['an event without a session', { session_id: undefined }],
  ])('is not %s', (_, change) => {
    expect(newChecker().isUnsigned(eventOf({ timestamp: atMinute(80), ...change }))).toBe(false);
  });

  test('is reported for a later event, but not for the acceptance that a review causes', () => {
    const checker = newChecker();
    const timestamp = atMinute(80);
    checker.isUnsigned(eventOf({ timestamp, event_type: 'REVIEW_COMPLETED', position: 8 }));
    expect(checker.isUnsigned(eventOf({ timestamp, position: 9 }))).toBe(false);
    expect(checker.isUnsigned(eventOf({ timestamp, position: 10 }))).toBe(true);
    expect(checker.isUnsigned(eventOf({ timestamp, position: 9, subject: 'B-001-x' }))).toBe(true);
  });
});
