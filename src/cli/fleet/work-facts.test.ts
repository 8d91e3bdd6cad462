import { expect, it } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { newNames, numberedNames } from './agent-name.js';
import { backoffMs } from './agent-process.js';
import { WorkFacts } from './work-facts.js';

const event = (event_type: string, generation: number, payload: object): EventEnvelope => ({
  event_id: 'e',
  event_type,
  timestamp: '2026-01-01T00:00:00.000Z',
  tenant_id: 'default',
  project_id: 'shop',
  position: 1,
  subject: 'A-001-schema',
  task_id: 'A-001-schema',
  agent_id: 'builder-1',
  generation,
  payload: { ...payload },
});

it('counts what became of an agent’s work, and lists what was refused', () => {
  const facts = new WorkFacts(['builder-1']);
  const granted = event('CLAIM_ACQUIRED', 1, { expires_at: '2026-01-01T00:05:00.000Z' });
  expect(facts.apply(granted)).toContain('claimed, generation 1');
  facts.apply(event('LEASE_RENEWED', 1, { expires_at: '2026-01-01T00:09:00.000Z' }));
  expect(facts.of('builder-1').claim).toMatchObject({
    generation: 1,
    expires_at: '2026-01-01T00:09:00.000Z',
  });
  expect(facts.apply(event('CLAIM_LOST', 1, { cause: 'EXPIRED', disposition: 'eligible' }))).toContain(
    'lost',
  );
  expect(facts.of('builder-1').claim).toBeNull();
  const denied = {
    submitted_generation: 1,
    rejection_reason: 'STALE_GENERATION',
    result_id: 'res_1',
    parked: true,
  };
  facts.apply(event('RESULT_REJECTED', 2, denied));
  expect(facts.apply(event('RESULT_ESCALATED', 2, { reason: 'human_review_required' }))).toContain(
    'gen review',
  );
  facts.apply(event('CLAIM_RELEASED', 2, { reason: 'ERROR', message: 'no disk' }));
  facts.apply(event('CLAIM_RELEASED', 3, { reason: 'VOLUNTARY' }));
  facts.apply(event('RESULT_SUBMITTED', 4, {}));
  expect(facts.of('builder-1')).toEqual({
    claim: null,
    accepted: 1,
    escalated: 1,
    refused: 1,
    failed: 1,
    lost: 1,
    released: 1,
  });
  const refused = { agent: 'builder-1', task_id: 'A-001-schema', generation: 1 };
  expect(facts.refused).toEqual([{ ...refused, reason: 'STALE_GENERATION', parked: 'res_1' }]);
});

it('shows a claim again that comes back from a review', () => {
  const facts = new WorkFacts(['builder-1']);
  facts.apply(event('CLAIM_ACQUIRED', 1, { expires_at: '2026-01-01T00:05:00.000Z' }));
  facts.apply(event('RESULT_ESCALATED', 1, { reason: 'human_review_required' }));
  expect(facts.of('builder-1').claim).toBeNull();
  const expires_at = '2026-01-01T00:09:00.000Z';
  facts.apply(event('LEASE_RENEWED', 1, { expires_at }));
  expect(facts.of('builder-1').claim).toEqual({ task_id: 'A-001-schema', generation: 1, expires_at });
});

it('ignores agents of others', () => {
  expect(new WorkFacts(['builder-2']).apply(event('RESULT_SUBMITTED', 1, {}))).toBeNull();
});

it('waits longer before each restart in a row, up to a minute', () => {
  expect([1, 2, 3, 8, 9, 1000].map(backoffMs)).toEqual([500, 1000, 2000, 60_000, 60_000, 60_000]);
});

it('names agents after their program and a short id, or by number', () => {
  expect(newNames('/opt/bin/claude', 3)).toEqual(
    Array(3).fill(expect.stringMatching(/^claude-[0-9a-f]{4}$/)),
  );
  expect(newNames('./agent.sh', 1)[0]).toMatch(/^agent-[0-9a-f]{4}$/);
  expect(newNames('…', 1)[0]).toMatch(/^agent-[0-9a-f]{4}$/);
  expect(new Set(newNames('a', 100)).size).toBe(100);
  expect(numberedNames('builder', 2)).toEqual(['builder-1', 'builder-2']);
});
