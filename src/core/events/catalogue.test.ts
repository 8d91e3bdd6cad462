import { describe, expect, it } from 'vitest';
import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import { agentIdSchema } from '../ids.js';
import { CATALOGUE, checkNewEvent } from './catalogue.js';

const TASK_TYPES = [
  'CLAIM_ACQUIRED',
  'LEASE_RENEWED',
  'CLAIM_LOST',
  'CLAIM_RELEASED',
  'CLAIM_SUSPENDED',
  'CLAIM_RESUMED',
  'RESULT_SUBMITTED',
  'RESULT_ADOPTED',
  'RESULT_ESCALATED',
  'REVIEW_COMPLETED',
  'TASK_HELD',
  'TASK_UNHELD',
  'TASK_RESET',
  'CLAIM_REJECTED',
  'RESULT_REJECTED',
  'REFUSALS_COUNTED',
  'NOTE_ADDED',
];
const EDGE_TYPES = [
  'edge_started',
  'heartbeat',
  'claim_expired',
  'edge_released',
  'claim_suspended',
  'claim_resumed',
  'edge_converged',
  'result_adopted',
  'convergence_escalated',
  'review_completed',
  'edge_held',
  'edge_unheld',
  'edge_reset',
  'claim_rejected',
  'result_rejected',
  'refusals_counted',
  'note_added',
];
const METHODOLOGY_TYPES = [
  'project_initialized',
  'iteration_completed',
  'spawn_created',
  'spawn_folded_back',
  'checkpoint_created',
  'gaps_validated',
  'release_created',
  'evaluator_detail',
  'iteration_abandoned',
  'intent_raised',
  'spec_modified',
  'escalation_resolved',
  'escalation_queue_reviewed',
  'encoding_escalated',
  'graph_zoom_in',
  'graph_zoom_out',
  'graph_zoom_selective',
  'health_checked',
  'run_requested',
  'run_started',
  'run_step_started',
  'run_step_completed',
  'run_step_failed',
  'run_suspended',
  'run_ended',
];
const RECORD_TYPES = [
  'PLAN_CHANGED',
  'TASKS_PROPOSED',
  'TASKS_PROPOSAL_DECIDED',
  'POLICY_CHANGED',
  'LIMITS_CHANGED',
  'HISTORY_FORGOTTEN',
  'HISTORY_LOST',
  'AUDIT_ALARM',
  'AUDIT_ANCHOR_KEPT',
  'AUDIT_CHECKPOINT',
  'AUDIT_KEY_ENROLLED',
  'AUDIT_KEY_REVOKED',
  'METHODOLOGY_CHANGED',
  'FEATURE_CHANGED',
  'SESSION_OPENED',
  'SESSION_CLOSED',
  'KEY_CREATED',
  'KEY_REVOKED',
  'KEY_BOUND',
  'KEY_BINDING_REQUIRED',
  'RUNNER_ENROLLED',
  'RUNNER_REVOKED',
  'CANDIDATE_PROPOSED',
  'EVIDENCE_RECORDED',
  'BASE_MOVED',
];
const REVIEW_TYPES = ['review_notified', 'review_notice_failed', 'escalation_timeout'];

const heldEvent = {
  event_id: '0198c5a2-7d5e-7b2c-9c1f-2f6f3c1d4e5a',
  event_type: 'TASK_HELD',
  timestamp: '2026-01-04T06:00:00.000Z',
  tenant_id: 'acme',
  project_id: 'shop',
  subject: 'A-001-core',
  seq: 1,
  task_id: 'A-001-core',
  agent_id: 'alice@acme.com',
  payload: { reason: 'wait', by: 'alice@acme.com' },
};
const faultPaths = (event: unknown): string[] => {
  const check = checkNewEvent(event);
  return check.ok ? [] : check.faults.map(({ path }) => path);
};
const { subject: _subject, seq: _seq, task_id: _task, ...unbound } = heldEvent;
const ofProject = (event_type: string, payload: Record<string, unknown>) => ({
  ...unbound,
  event_type,
  payload,
});

describe('the catalogue of events', () => {
  // req: EVT-004, EVT-005
  it('has exactly these types', () => {
    const all = [...TASK_TYPES, ...EDGE_TYPES, ...METHODOLOGY_TYPES, ...RECORD_TYPES, ...REVIEW_TYPES];
    expect([...CATALOGUE.keys()].sort()).toEqual(all.sort());
  });

  it('maps every task type and edge type to a claim event kind', () => {
    const eventKinds = (types: string[]) => types.map(claimEventKindOf);
    expect(eventKinds(TASK_TYPES)).toEqual(eventKinds(EDGE_TYPES));
    expect(new Set(eventKinds(TASK_TYPES)).size).toBe(TASK_TYPES.length);
    expect(eventKinds(TASK_TYPES)).not.toContain(undefined);
  });
});

describe('a new event', () => {
  it('passes when it is complete', () => {
    expect(checkNewEvent(heldEvent)).toEqual({ ok: true });
  });

  it('names what was adopted: a parked result or an imported event, and not a mixture', () => {
    const adoptionEvent = (adopted_from: unknown) => {
      const result = { result_id: 'res_1', result_sha256: 'a'.repeat(64), result_size_bytes: 2 };
      const payload = { reason: 'good', by: 'hana', ...result, work_product_ref: 'wp-1', adopted_from };
      return faultPaths({ ...heldEvent, event_type: 'RESULT_ADOPTED', payload });
    };
    const parked = { result_id: 'res_1', generation: 1, agent_id: 'ada', session_id: 's-1' };
    const imported = { imported: true, event_id: heldEvent.event_id, position: 7 };
    expect(adoptionEvent(parked)).toEqual([]);
    expect(adoptionEvent(imported)).toEqual([]);
    expect(adoptionEvent({ ...imported, agent_id: 'primary', source: 'old.jsonl' })).toEqual([]);
    for (const wrong of [
      { ...parked, ...imported },
      { ...imported, imported: false },
      { ...imported, source: 'x'.repeat(257) },
      { imported: true, position: 7 },
    ])
      expect(adoptionEvent(wrong)).toEqual([expect.stringContaining('payload.adopted_from')]);
  });

  it('is refused when its type is unknown', () => {
    expect(checkNewEvent({ ...heldEvent, event_type: 'TASK_PAINTED' })).toEqual({
      ok: false,
      faults: [{ path: 'event_type', message: 'unknown event_type TASK_PAINTED; check its spelling' }],
    });
  });

  // req: EDG-014
  it('is refused when it is a claim command', () => {
    const check = checkNewEvent({ ...heldEvent, event_type: 'edge_claim' });
    expect(check.ok ? '' : check.faults[0]?.message).toMatch(/command/);
  });

  it.each([
    ['an unknown field in the envelope', { ...heldEvent, colour: 'red' }, ['']],
    [
      'an unknown field in the payload',
      { ...heldEvent, payload: { ...heldEvent.payload, colour: 'red' } },
      ['payload'],
    ],
    ['a missing field in the payload', { ...heldEvent, payload: { reason: 'wait' } }, ['payload.by']],
    ['a time without milliseconds', { ...heldEvent, timestamp: '2026-01-04T06:00:00Z' }, ['timestamp']],
    ['an event_id that is not a UUID', { ...heldEvent, event_id: 'e1' }, ['event_id']],
    ['a position, which only the commit assigns', { ...heldEvent, position: 4 }, ['']],
    ['no seq though it changes a head', withoutSeq(), ['seq']],
    ['a task_id that is not the subject', { ...heldEvent, task_id: 'A-002-x' }, ['task_id']],
    ['a tenant with a slash', { ...heldEvent, tenant_id: 'a/b' }, ['tenant_id']],
    ['a value that is not an object', 'held', ['']],
  ])('is refused with %s', (_, event, paths) => {
    expect(faultPaths(event)).toEqual(paths);
  });

  it('is refused with a subject of the wrong kind', () => {
    const { task_id: _, ...rest } = heldEvent;
    const event = { ...rest, subject: 'F#design_code', feature_id: 'F', edge: 'design_code' };
    expect(faultPaths(event)).toEqual(['subject']);
  });

  it('is refused when it records a refused command but has a seq', () => {
    const payload = { reason: 'DENIED_HELD', current_generation: 0 };
    expect(faultPaths({ ...heldEvent, event_type: 'CLAIM_REJECTED', payload })).toEqual(['seq']);
  });

  it.each([
    ['project_initialized', { language: 'python', tools_detected: ['pytest'], asset_types: 10 }],
    [
      'iteration_completed',
      {
        iteration: 2,
        status: 'converged',
        delta: 0,
        evaluators: { passed: 9, failed: 0, skipped: 0, total: 9, details: [{ name: 'tests_pass' }] },
        next_edge: 'code_unit_tests',
      },
    ],
    [
      'spawn_created',
      { parent: 'F', child: 'S', vector_type: 'spike', reason: 'unknown', time_box: '1 week' },
    ],
    ['spawn_folded_back', { parent: 'F', child: 'S', fold_back_status: 'time_box_expired' }],
    ['checkpoint_created', { context_hash: 'sha256:ab', feature_count: 3, git_ref: 'main' }],
    [
      'gaps_validated',
      {
        layers_run: [1, 2, 3],
        total_req_keys: 54,
        full_coverage: 44,
        partial_coverage: 10,
        no_coverage: 0,
        layer_results: { layer_1: 'pass' },
      },
    ],
    ['release_created', { version: '1.0.0', features_included: 10, coverage_pct: 100, git_tag: 'v1.0.0' }],
  ])('passes as a methodology event: %s', (eventType, payload) => {
    expect(checkNewEvent(ofProject(eventType, payload))).toEqual({ ok: true });
    expect(faultPaths(ofProject(eventType, { ...payload, colour: 'red' }))).toEqual(['payload']);
  });

  it('may add methodology fields to an edge event', () => {
    const { task_id: _, ...rest } = heldEvent;
    const edge = { ...rest, subject: 'F#design_code', feature_id: 'F', edge: 'design_code' };
    const lease = { lease_duration_seconds: 3600, expires_at: '2026-01-04T07:00:00.000Z' };
    const payload = { previous_generation: 0, previous_state: 'NONE', ...lease, iteration: 1 };
    expect(checkNewEvent({ ...edge, event_type: 'edge_started', payload })).toEqual({ ok: true });
    expect(faultPaths({ ...edge, event_type: 'edge_started', payload: { iteration: 1 } })).toContain(
      'payload.previous_generation',
    );
  });

  it('may open a session without a user', () => {
    const record = { state: 'open', user_id: null, created_at: heldEvent.timestamp };
    const event = { ...ofProject('SESSION_OPENED', { record }), subject: '~session/s-1', seq: 1 };
    expect(checkNewEvent(event)).toEqual({ ok: true });
    expect(faultPaths({ ...event, payload: { record: { ...record, state: 'ajar' } } })).toEqual([
      'payload.record.state',
    ]);
  });

  it('may create a key with only the digest of its secret', () => {
    const record = {
      state: 'active',
      tenant_id: 'acme',
      role: 'agent',
      label: null,
      user_id: null,
      secret_sha256: 'a'.repeat(64),
      last_four: 'wxyz',
      created_at: heldEvent.timestamp,
      created_by: 'open',
      expires_at: null,
    };
    const fields = { tenant_id: '_genesis', project_id: '_tenant', subject: '~key/k1', seq: 1 };
    const event = { ...ofProject('KEY_CREATED', { by: 'open', record }), ...fields };
    expect(checkNewEvent(event)).toEqual({ ok: true });
    const faultPathsWith = (more: object) =>
      faultPaths({ ...event, payload: { by: 'open', record: { ...record, ...more } } });
    expect(faultPathsWith({ secret: 'gck_live_k1_abc' })).toEqual(['payload.record']);
    expect(faultPathsWith({ role: 'root' })).toEqual(['payload.record.role']);
    expect(faultPathsWith({ last_four: 'vwxyz' })).toEqual(['payload.record.last_four']);
  });

  it('may change no more tasks of a plan than one event may have', () => {
    const planChangeOf = (task_count: number) => ({
      version: 1,
      added: Array.from({ length: task_count }, (_, n) => ({ id: `A-${n}` })),
      changed: [],
      removed: [],
      record: { version: 1, task_count },
    });
    const event = { ...ofProject('PLAN_CHANGED', planChangeOf(500)), subject: '~plan', seq: 1 };
    expect(checkNewEvent(event)).toEqual({ ok: true });
    expect(faultPaths({ ...event, payload: planChangeOf(501) })).toEqual(['payload.added']);
  });
});

describe('an id', () => {
  it.each(['a', 'agent-7', 'alice@acme.com', 'x+y~z_1.2', 'a'.repeat(128)])('may be %s', (id) => {
    expect(agentIdSchema.safeParse(id).success).toBe(true);
  });

  it.each(['', '-a', '_tenant', 'a b', 'a/b', 'a#b', 'ä', 'a\n'])('may not be %j', (id) => {
    expect(agentIdSchema.safeParse(id).success).toBe(false);
  });

  it('is checked for its length before anything else', () => {
    const { error } = agentIdSchema.safeParse(`${'a'.repeat(1_000_000)}!`);
    expect(error?.issues.map(({ code }) => code)).toEqual(['too_big']);
  });
});

function withoutSeq() {
  const { seq: _, ...rest } = heldEvent;
  return rest;
}
