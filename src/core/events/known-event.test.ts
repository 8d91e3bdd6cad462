import { expect, expectTypeOf, it } from 'vitest';
import type { EventEnvelope } from './envelope.js';
import { asKnownEvent } from './known-event.js';

const held: EventEnvelope = {
  event_id: 'e-1',
  event_type: 'edge_held',
  timestamp: '2026-01-04T06:00:00.000Z',
  tenant_id: 'acme',
  project_id: 'shop',
  position: 1,
  agent_id: 'ada',
  payload: { reason: 'wait', by: 'ada' },
};

it('returns an event of the catalogue itself, with the type of its payload', () => {
  const known = asKnownEvent(held);
  expect(known).toBe(held);
  if (known?.event_type !== 'edge_held') throw new Error('the type is another');
  expectTypeOf(known.payload).toEqualTypeOf<{ reason: string; by: string }>();
});

it('does not know a type of a later version', () => {
  expect(asKnownEvent({ ...held, event_type: 'TASK_PAINTED' })).toBeNull();
});

it('does not know an imported event, whose payload may be anything', () => {
  const imported = { ...held, payload: { imported: { source: 'old.jsonl', line: 7 } } };
  expect(asKnownEvent(imported)).toBeNull();
});
