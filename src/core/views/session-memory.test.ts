import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../events/envelope.js';
import { emptySession, evolveSession, sessionMemory, TASK_LOG_MAX } from './session-memory.js';
import { claimBy, submitBy, WORKERS } from './testing/command-steps.js';
import { ProjectHistory, T0_MS } from './testing/project-history.js';

const [ada, , bob] = WORKERS;
const iso = (seconds: number) => new Date(T0_MS + seconds * 1000).toISOString();
const handleOf = (session_id: string, generation = 1) => ({ generation, session_id, claim_id: null });

function memoryOf(sessionId: string, events: readonly EventEnvelope[]) {
  const session = emptySession(sessionId);
  for (const event of events) evolveSession(session, event);
  return sessionMemory(session, { A: { completed: 1, in_progress: 1, pending: 0 } });
}

describe('the memory of a session', () => {
  // req: SES-002, SES-003, SES-004
  it('lists what the session did, holds and completed', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    history.now_ms += 15_000;
    history.command('A-001-core', submitBy(history, 'A-001-core', handleOf('s-1')));
    history.command('A-002-shell::1', claimBy(ada));
    const memory = memoryOf('s-1', history.events);
    expect(memory).toMatchObject({
      session_id: 's-1',
      tenant_id: 'acme',
      project_id: 'shop',
      user_id: 'user-of-s-1',
      created_at: iso(0),
      last_activity: iso(15),
      completed_tasks: ['A-001-core'],
      track_assignments: { A: 'ada' },
      track_progress: { A: { completed: 1, in_progress: 1, pending: 0 } },
    });
    expect(memory.active_claims).toEqual([
      { project_id: 'shop', task_id: 'A-002-shell::1', generation: 1, expires_at: iso(75) },
    ]);
    expect(memory.task_log.map(({ event, task_id, outcome }) => [event, task_id, outcome])).toEqual([
      ['CLAIM_ACQUIRED', 'A-001-core', null],
      ['RESULT_SUBMITTED', 'A-001-core', 'ACCEPTED'],
      ['CLAIM_ACQUIRED', 'A-002-shell::1', null],
    ]);
    expect(memory.task_log[1]).toMatchObject({
      timestamp: iso(15),
      track: 'A',
      sequence: 1,
      generation: 1,
      agent_id: 'ada',
      work_product_ref: expect.stringMatching(/^wp-A-001-core-gen1-/),
      details: { late: false, result_id: 'result-1-done-A-001-core' },
    });
    expect(memory.task_log[1]?.details).not.toHaveProperty('result_data');
  });

  // req: SES-007
  it('includes the loss of its claim and the refusal of its result, caused by others', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    history.now_ms += 61_000;
    history.command('A-001-core', claimBy(bob));
    history.now_ms += 1_000;
    history.command('A-001-core', submitBy(history, 'A-001-core', handleOf('s-1')));
    const ownMemory = memoryOf('s-1', history.events);
    expect(ownMemory.task_log.map(({ event, outcome }) => [event, outcome])).toEqual([
      ['CLAIM_ACQUIRED', null],
      ['CLAIM_LOST', null],
      ['RESULT_REJECTED', 'REJECTED'],
    ]);
    expect(ownMemory.active_claims).toEqual([]);
    const otherMemory = memoryOf('s-2', history.events);
    expect(otherMemory.task_log.map(({ event }) => event)).toEqual(['CLAIM_ACQUIRED']);
  });

  it('does not count a lost claim as activity', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    history.now_ms += 500_000;
    history.command('A-001-core', { type: 'expire' });
    expect(memoryOf('s-1', history.events).last_activity).toBe(iso(0));
  });

  it('drops a completed task after a reset', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    history.command('A-001-core', submitBy(history, 'A-001-core', handleOf('s-1')));
    history.command('A-001-core', { type: 'reset', expected_generation: 1, reason: 'r', by: 'olga' });
    expect(memoryOf('s-1', history.events).completed_tasks).toEqual([]);
  });

  it('shows the deadline of the gate while the claim is suspended', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    history.command('A-001-core', { type: 'suspend', handle: handleOf('s-1'), gate: null });
    const [claim] = memoryOf('s-1', history.events).active_claims;
    expect(claim?.expires_at).toBe(iso(14 * 24 * 3600));
  });

  it('keeps tasks with the same id in two projects apart', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    const elsewhere = history.events.map((event) => ({ ...event, project_id: 'other' }));
    const { active_claims } = memoryOf('s-1', [...history.events, ...elsewhere]);
    expect(active_claims.map(({ project_id }) => project_id)).toEqual(['shop', 'other']);
  });

  it('keeps only the latest entries of a long log', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    const last = history.events.at(-1)!;
    const renewals = Array.from({ length: TASK_LOG_MAX + 5 }, (_, index) => ({
      ...last,
      event_type: 'LEASE_RENEWED',
      position: last.position + 1 + index,
      payload: { lease_duration_seconds: index, expires_at: iso(60) },
    }));
    const { task_log } = memoryOf('s-1', [...history.events, ...renewals]);
    expect(task_log).toHaveLength(TASK_LOG_MAX);
    expect(task_log[0]?.details.lease_duration_seconds).toBe(5);
  });
});
