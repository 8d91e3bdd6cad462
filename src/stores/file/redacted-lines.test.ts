import { expect, it } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';
import { digestRemaining, RedactedLines } from './redacted-lines.js';

const ENVELOPE = {
  event_id: 'e',
  timestamp: '2026-01-01T00:00:00.000Z',
  tenant_id: 'acme',
  project_id: 'shop',
  agent_id: 'a',
};
const REDACTED: EventEnvelope = {
  ...ENVELOPE,
  position: 1,
  event_type: 'CLAIM_RELEASED',
  payload: { left: 1 },
};

function unrecordedWith(redaction: Partial<EventEnvelope>): string[] {
  const lines = new RedactedLines<string>();
  lines.add(REDACTED, true, 'line 1');
  const event = { ...ENVELOPE, position: 2, event_type: 'HISTORY_FORGOTTEN', payload: {}, ...redaction };
  lines.add(event, false, 'line 2');
  return lines.unrecorded();
}

const payload = { events: [{ position: 1, payload_sha256: digestRemaining(REDACTED.payload) }] };

it('accepts a redacted line if a redaction event of the coordinator records its digest', () => {
  expect(unrecordedWith({ subject: HISTORY_SUBJECT, payload })).toEqual([]);
});

it('does not accept an imported event of the same type as a redaction', () => {
  expect(unrecordedWith({ payload: { ...payload, imported: { from: 'x' } } })).toEqual(['line 1']);
});

it('ignores a malformed redaction event', () => {
  expect(unrecordedWith({ subject: HISTORY_SUBJECT, payload: { events: 5 } })).toEqual(['line 1']);
});
