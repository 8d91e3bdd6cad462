import { expect, it } from 'vitest';
import type { AuditRecords, SignedRoot } from './audit-records.js';
import { SinkDelivery } from './delivery.js';
import type { AuditSink } from './sink.js';

const PROJECT = { tenant_id: 'acme', project_id: 'shop' };
const CHECKPOINT = { position: 1, incarnation: 1, key_id: 'own' } as SignedRoot;

it('pauses from the end of a failed attempt, however long the attempt took', async () => {
  let nowMs = 0;
  let attempts = 0;
  const sink: AuditSink = {
    name: 'slow',
    lastSent: async () => null,
    async send() {
      attempts += 1;
      nowMs += 10_000;
      throw new Error('The sink timed out.');
    },
  };
  const records = { checkpoints: [CHECKPOINT], anchorOf: () => ({}) } as unknown as AuditRecords;
  const delivery = new SinkDelivery(PROJECT, records, sink, new Set(['own']), () => nowMs);
  await delivery.deliver();
  expect(attempts).toBe(1);
  await delivery.deliver();
  nowMs += 999;
  await delivery.deliver();
  expect(attempts).toBe(1);
  nowMs += 1;
  await delivery.deliver();
  expect(attempts).toBe(2);
  // The pause has doubled.
  nowMs += 1999;
  await delivery.deliver();
  expect(attempts).toBe(2);
  nowMs += 1;
  await delivery.deliver();
  expect(attempts).toBe(3);
});
