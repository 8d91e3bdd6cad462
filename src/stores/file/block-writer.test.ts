import { expect, it } from 'vitest';
import { leafHashOf, payloadDigest } from '../../coordinator/audit/audit-hash.js';
import { leafText } from '../../core/audit/leaf.js';
import type { NewEvent } from '../../core/events/envelope.js';
import { BlockWriter } from './block-writer.js';

const eventWith = (changes: Partial<NewEvent>): NewEvent => ({
  event_id: '01970000-0000-7000-8000-000000000001',
  event_type: 'task_claimed',
  timestamp: '2026-01-04T06:00:00.000Z',
  tenant_id: 'acme',
  project_id: 'shop',
  agent_id: 'alpha',
  payload: { said: 'x' },
  ...changes,
});

it('hashes each event as a leaf of the audit tree, whatever its characters and its length', () => {
  const events = [
    eventWith({}),
    eventWith({ agent_id: 'größe “ü” 🙂' }),
    eventWith({ payload: { said: 'größe' } }),
    eventWith({ subject: `A-${'ä'.repeat(3000)}`, seq: 7 }),
    eventWith({ request_id: 'r-1' }),
  ];
  const writer = new BlockWriter();
  writer.begin('');
  for (const [at, event] of events.entries()) {
    writer.addEvent(event, at + 1, '', null);
    const leaf = leafText({ ...event, position: at + 1 }, payloadDigest(event.payload));
    expect(writer.leafHash()).toEqual(leafHashOf(leaf));
  }
});
