import { describe, expect, it } from 'vitest';
import { parseForeignLine } from './foreign-log.js';
import type { ForeignLogContext } from './read-flat.js';

const log: ForeignLogContext = {
  tenant_id: 'acme',
  project_id: 'shop',
  source: 'old.jsonl',
  now_ms: Date.parse('2026-03-01T00:00:00Z'),
};
const fallback = { position: 7, event_id: 'id-7' };
const time = '2026-02-23T10:00:00.000Z';
const readValid = (line: unknown) => {
  const event = parseForeignLine(line, log, fallback.position);
  if (typeof event === 'string') throw new Error(event);
  return { ...fallback, ...event };
};

const imported = { source: 'old.jsonl', line: 7, original_timestamp: time };

describe('a line of the flat dialect', () => {
  // req: EVT-003, EVT-016
  it('with feature and edge at the top keeps every other field in the payload', () => {
    const line = {
      event_type: 'iteration_completed',
      timestamp: time,
      project: 'elsewhere',
      feature: 'REQ-F-AUTH-001',
      edge: 'design→code',
      iteration: 2,
      delta: 0,
      data: { note: 'fine' },
    };
    expect(readValid(line)).toEqual({
      event_id: 'id-7',
      event_type: 'iteration_completed',
      timestamp: time,
      tenant_id: 'acme',
      project_id: 'shop',
      position: 7,
      feature_id: 'REQ-F-AUTH-001',
      edge: 'design_code',
      agent_id: 'primary',
      payload: {
        iteration: 2,
        delta: 0,
        note: 'fine',
        imported: { ...imported, project: 'elsewhere', original_edge: 'design→code' },
      },
    });
  });

  it('with everything inside data gives the same event as with everything at the top', () => {
    const fields = { agent_id: 'bob', agent_role: 'tdd', feature: 'F', edge: 'e', reason: 'outside' };
    const head = { event_type: 'convergence_escalated', timestamp: time, project: 'shop' };
    const inside = readValid({ ...head, data: fields });
    expect(inside).toEqual(readValid({ ...head, ...fields }));
    expect(inside).toMatchObject({ agent_id: 'bob', agent_role: 'tdd', feature_id: 'F', edge: 'e' });
    expect(inside.payload).toMatchObject({ reason: 'outside' });
  });

  it.each(['holding_agent', 'held_by'])('names the holder of the claim, spelled %s', (spelling) => {
    const line = { event_type: 'claim_rejected', timestamp: time, data: { [spelling]: 'ada', reason: 'r' } };
    expect(readValid(line).payload).toEqual({ holding_agent: 'ada', reason: 'r', imported });
  });

  it('of the audit log of specification 004 keeps its task and generation', () => {
    const line = {
      event_type: 'RESULT_REJECTED',
      timestamp: time,
      tenant_id: 'other',
      project_id: 'proj-123',
      task_id: 'task-456',
      submitted_generation: 2,
      session_id: 'sess-old',
      agent_id: 'agent-xyz',
      work_lost: true,
    };
    const { tenant_id, task_id, session_id, payload } = readValid(line);
    expect({ tenant_id, task_id, session_id }).toEqual({
      tenant_id: 'acme',
      task_id: 'task-456',
      session_id: 'sess-old',
    });
    expect(payload).toEqual({
      submitted_generation: 2,
      work_lost: true,
      imported: { ...imported, tenant_id: 'other', project: 'proj-123' },
    });
  });

  it('changes no head, even if it reports a claim', () => {
    const event = readValid({ event_type: 'edge_started', timestamp: time, feature: 'F', edge: 'E' });
    expect([event.subject, event.seq]).toEqual([undefined, undefined]);
  });

  it('keeps both values if the top level and data use the same name', () => {
    const line = { event_type: 'edge_released', timestamp: time, reason: 'done', data: { reason: 'tired' } };
    expect(readValid(line).payload).toEqual({ reason: 'done', data: { reason: 'tired' }, imported });
  });

  it('keeps data that is not an object', () => {
    expect(readValid({ event_type: 'x', timestamp: time, data: [1, 2] }).payload).toEqual({
      data: [1, 2],
      imported,
    });
  });

  it.each([
    ['2026-02-23T21:00:00+11:00', time],
    ['2026-02-23T10:00:00+00:00', time],
    ['2026-02-23T10:00:00Z', time],
    ['2026-02-23T10:00:00', time],
    ['2026-02-23', '2026-02-23T00:00:00.000Z'],
  ])('reads timestamp %s as %s', (written, meant) => {
    expect(readValid({ event_type: 'x', timestamp: written }).timestamp).toBe(meant);
  });

  it('is invalid without a type or a time, or if it is not an object', () => {
    expect(parseForeignLine({ timestamp: time }, log, 7)).toBe('it has no type');
    expect(parseForeignLine({ event_type: 'x' }, log, 7)).toBe('it has no time that can be read');
    expect(parseForeignLine([1], log, 7)).toBe('it is not an object');
    expect(parseForeignLine(null, log, 7)).toBe('it is not an object');
  });
});
