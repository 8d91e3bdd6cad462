import { expect, test } from 'vitest';
import type { EventEnvelope } from '../events/envelope.js';
import { requestedRuns } from './requested-runs.js';

const id = (digit: number): string => `0199c1de-0000-7000-8000-00000000000${digit}`;
const event = (event_type: string, payload: object, subject = 'F#design_code') =>
  ({ event_type, subject, payload }) as unknown as EventEnvelope;

test('requested runs are those that no executor has started and no person has ended', () => {
  const requested = (digit: number) => event('run_requested', { run_id: id(digit), retry_of: null });
  const events = [
    requested(1),
    requested(2),
    requested(3),
    requested(4),
    event('run_started', { run_id: id(1) }),
    event('run_ended', { run_id: id(3), status: 'CANCELLED' }),
    event('run_requested', { run_id: 'not an id' }),
  ];
  expect(requestedRuns(events)).toEqual([
    { run_id: id(2), subject: 'F#design_code' },
    { run_id: id(4), subject: 'F#design_code' },
  ]);
});
