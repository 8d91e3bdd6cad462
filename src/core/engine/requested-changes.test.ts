import { expect, it } from 'vitest';
import type { EventEnvelope } from '../events/envelope.js';
import { requestedChanges } from './requested-changes.js';

const eventOf = (event_type: string, payload: Record<string, unknown>, at: number): EventEnvelope => ({
  event_id: `e-${at}`,
  timestamp: new Date(at * 1000).toISOString(),
  tenant_id: 'acme',
  project_id: 'shop',
  agent_id: 'engine',
  subject: 'REQ-F-A-001#design_code',
  position: at + 1,
  event_type,
  payload,
});
const eventsOf = (...typesAndPayloads: [string, Record<string, unknown>][]): EventEnvelope[] =>
  typesAndPayloads.map(([type, payload], at) => eventOf(type, payload, at));

const runStarted = (run_id: string): [string, Record<string, unknown>] => ['run_started', { run_id }];
const ENDED: [string, Record<string, unknown>] = ['run_ended', { run_id: 'first' }];
const REQUESTED: [string, Record<string, unknown>] = [
  'run_requested',
  { run_id: 'second', retry_of: 'first' },
];
const COMMENT: [string, Record<string, unknown>] = [
  'review_completed',
  { decision: 'CHANGES_REQUESTED', comment: 'Round down.' },
];

it.each([
  ['before a retry is requested', [COMMENT, REQUESTED]],
  ['after a retry was requested', [REQUESTED, COMMENT]],
])('a comment that is given %s concerns the run that has ended', (_, order) => {
  const events = eventsOf(runStarted('first'), ENDED, ...order, runStarted('second'));
  expect(requestedChanges('first', events)).toBe('Round down.');
});

it('a comment on the candidate of the next run does not concern the run before it', () => {
  expect(
    requestedChanges('first', eventsOf(runStarted('first'), ENDED, runStarted('second'), COMMENT)),
  ).toBeNull();
});
