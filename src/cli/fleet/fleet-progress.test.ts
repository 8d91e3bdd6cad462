import { expect, it } from 'vitest';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { FleetProgress } from './fleet-progress.js';

const eventWith = (event_type: string, generation: number, payload: object): EventEnvelope => ({
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

it('counts the outcomes of an agent’s work, and lists its refused results', () => {
  const progress = new FleetProgress(['builder-1']);
  const granted = eventWith('CLAIM_ACQUIRED', 1, { expires_at: '2026-01-01T00:05:00.000Z' });
  expect(progress.apply(granted)).toContain('claimed, generation 1');
  progress.apply(eventWith('LEASE_RENEWED', 1, { expires_at: '2026-01-01T00:09:00.000Z' }));
  expect(progress.progressOf('builder-1').claim).toMatchObject({
    generation: 1,
    expires_at: '2026-01-01T00:09:00.000Z',
  });
  expect(progress.apply(eventWith('CLAIM_LOST', 1, { cause: 'EXPIRED', disposition: 'eligible' }))).toContain(
    'lost',
  );
  expect(progress.progressOf('builder-1').claim).toBeNull();
  const denied = {
    submitted_generation: 1,
    rejection_reason: 'STALE_GENERATION',
    result_id: 'res_1',
    parked: true,
  };
  progress.apply(eventWith('RESULT_REJECTED', 2, denied));
  expect(progress.apply(eventWith('RESULT_ESCALATED', 2, { reason: 'human_review_required' }))).toContain(
    'gen review',
  );
  progress.apply(eventWith('CLAIM_RELEASED', 2, { reason: 'ERROR', message: 'no disk' }));
  progress.apply(eventWith('CLAIM_RELEASED', 3, { reason: 'VOLUNTARY' }));
  progress.apply(eventWith('RESULT_SUBMITTED', 4, {}));
  expect(progress.progressOf('builder-1')).toEqual({
    claim: null,
    accepted: 1,
    escalated: 1,
    refused: 1,
    failed: 1,
    lost: 1,
    released: 1,
  });
  const refused = { agent_id: 'builder-1', task_id: 'A-001-schema', generation: 1 };
  expect(progress.refused).toEqual([{ ...refused, reason: 'STALE_GENERATION', parked: 'res_1' }]);
});

it('shows a claim again when its review has ended', () => {
  const progress = new FleetProgress(['builder-1']);
  progress.apply(eventWith('CLAIM_ACQUIRED', 1, { expires_at: '2026-01-01T00:05:00.000Z' }));
  progress.apply(eventWith('RESULT_ESCALATED', 1, { reason: 'human_review_required' }));
  expect(progress.progressOf('builder-1').claim).toBeNull();
  const expires_at = '2026-01-01T00:09:00.000Z';
  progress.apply(eventWith('LEASE_RENEWED', 1, { expires_at }));
  expect(progress.progressOf('builder-1').claim).toEqual({
    task_id: 'A-001-schema',
    generation: 1,
    expires_at,
  });
});

it('ignores other agents', () => {
  expect(new FleetProgress(['builder-2']).apply(eventWith('RESULT_SUBMITTED', 1, {}))).toBeNull();
});
