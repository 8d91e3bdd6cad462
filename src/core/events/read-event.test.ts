import { describe, expect, it } from 'vitest';
import { type EventParseResult, readEvent } from './read-event.js';
import type { ForeignLogContext } from './read-flat.js';

const log: ForeignLogContext = {
  tenant_id: 'acme',
  project_id: 'shop',
  source: 'old.jsonl',
  now_ms: Date.parse('2026-03-01T00:00:00Z'),
};
const fallback = { position: 7, event_id: 'id-7' };
const time = '2026-02-23T10:00:00.000Z';
const readValid = (line: unknown): Extract<EventParseResult, { ok: true }>['event'] => {
  const reading = readEvent(line, log, fallback);
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
  return reading.event;
};
const nativeEvent = {
  event_id: 'e-1',
  event_type: 'CLAIM_ACQUIRED',
  timestamp: time,
  tenant_id: 'acme',
  project_id: 'shop',
  position: 3,
  subject: 'A-001-core',
  seq: 1,
  task_id: 'A-001-core',
  agent_id: 'ada',
  session_id: 's-1',
  generation: 1,
  payload: { previous_generation: 0 },
};

describe('an event of our own log', () => {
  it('reads as it was written', () => {
    expect(readValid(nativeEvent)).toEqual(nativeEvent);
  });

  it('keeps a type and fields that a later version wrote', () => {
    const later = {
      ...nativeEvent,
      event_type: 'TASK_PAINTED',
      signature: 'abc',
      payload: { colour: 'red' },
    };
    expect(readValid(later)).toEqual(later);
  });

  it.each([
    ['seq', 0],
    ['position', 'three'],
    ['payload', null],
    ['timestamp', 'yesterday'],
    ['generation', -1],
  ])('is a fault with a bad %s', (field, value) => {
    const reading = readEvent({ ...nativeEvent, [field]: value }, log, fallback);
    expect(reading).toMatchObject({ ok: false, faults: [{ path: field }] });
  });
});

const imported = { source: 'old.jsonl', line: 7, original_timestamp: time };

describe('a line of the flat dialect', () => {
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

  it.each(['holding_agent', 'held_by'])('names who held the claim, spelled %s', (spelling) => {
    const line = { event_type: 'claim_rejected', timestamp: time, data: { [spelling]: 'ada', reason: 'r' } };
    expect(readValid(line).payload).toEqual({ holding_agent: 'ada', reason: 'r', imported });
  });

  it('of the audit log of seed 004 finds its task and generation', () => {
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

  it('moves no head of ours, whatever it says was claimed', () => {
    const event = readValid({ event_type: 'edge_started', timestamp: time, feature: 'F', edge: 'E' });
    expect([event.subject, event.seq]).toEqual([undefined, undefined]);
  });

  it('loses nothing where the top and data use one name for two things', () => {
    const line = { event_type: 'edge_released', timestamp: time, reason: 'done', data: { reason: 'tired' } };
    expect(readValid(line).payload).toEqual({ reason: 'done', data: { reason: 'tired' }, imported });
  });

  it('keeps data that is no object', () => {
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
  ])('written at %s happened at %s', (written, meant) => {
    expect(readValid({ event_type: 'x', timestamp: written }).timestamp).toBe(meant);
  });

  it('is a fault without a type or a time, and so is what is no object', () => {
    expect(readEvent({ timestamp: time }, log, fallback)).toMatchObject({
      ok: false,
      faults: [{ path: 'event_type' }],
    });
    expect(readEvent({ event_type: 'x' }, log, fallback)).toMatchObject({
      ok: false,
      faults: [{ path: 'timestamp' }],
    });
    expect(readEvent([1], log, fallback)).toMatchObject({ ok: false });
    expect(readEvent(null, log, fallback)).toMatchObject({ ok: false });
  });
});
