import { expect, expectTypeOf, it } from 'vitest';
import type { EventEnvelope } from './envelope.js';
import { asKnownEvent } from './known-event.js';

const heldEvent: EventEnvelope = {
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
  const knownEvent = asKnownEvent(heldEvent);
  expect(knownEvent).toBe(heldEvent);
  if (knownEvent?.event_type !== 'edge_held') throw new Error('the type is not edge_held');
  expectTypeOf(knownEvent.payload).toEqualTypeOf<{ reason: string; by: string }>();
});

it('returns null for an event type of a later version', () => {
  expect(asKnownEvent({ ...heldEvent, event_type: 'TASK_PAINTED' })).toBeNull();
});

it('returns null for an imported event, whose payload may be anything', () => {
  const importedEvent = { ...heldEvent, payload: { imported: { source: 'old.jsonl', line: 7 } } };
  expect(asKnownEvent(importedEvent)).toBeNull();
});
