import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../../events/envelope.js';
import { parseForeignLine } from '../../events/foreign-log.js';
import { isKnownEventType } from '../../events/known-event-types.js';
import { EventLogBuilder, foldAll } from '../testing/event-log-builder.js';
import { EVENT_HANDLERS, evolveMethodology } from './evolve.js';
import { type EdgeState, emptyMethodologyState, type MethodologyState } from './feature-state.js';
import { featureRows } from './rows.js';

const FEATURE = 'REQ-F-AUTH-001';
const edgeOf = (state: MethodologyState, edge: string, feature = FEATURE): EdgeState | undefined =>
  state.features.get(feature)?.edges.get(edge);
const stateAfter = (append: (log: EventLogBuilder) => EventLogBuilder): MethodologyState =>
  append(new EventLogBuilder()).fold();

describe('an edge', () => {
  it('is iterating once started, whatever the spelling of its name', () => {
    const state = stateAfter((log) =>
      log.append('edge_started', FEATURE, 'Design → Code').append('heartbeat', FEATURE, 'design->code'),
    );
    expect([...(state.features.get(FEATURE)?.edges.keys() ?? [])]).toEqual(['design_code']);
    expect(edgeOf(state, 'design_code')).toMatchObject({
      status: 'iterating',
      agent_id: 'primary',
      positions: { started: 1, last: 2, converged: null },
    });
  });

  it('keeps the data of its iterations', () => {
    const evaluators = {
      passed: 1,
      failed: 2,
      total: 3,
      details: [
        { name: 'tests', result: 'fail' },
        { name: 'types', result: 'error' },
        { name: 'lint', result: 'pass' },
      ],
    };
    const state = stateAfter((log) =>
      log
        .append('edge_started', FEATURE, 'design_code')
        .append('iteration_completed', FEATURE, 'design_code', { iteration: 1, delta: 2, evaluators })
        .append('iteration_completed', FEATURE, 'design_code', {
          iteration: 2,
          delta: 1,
          evaluators: {
            details: [
              { name: 'tests', result: 'fail' },
              { name: 'types', result: 'skip' },
            ],
          },
        }),
    );
    const edge = edgeOf(state, 'design_code');
    expect(edge).toMatchObject({ iteration: 2, delta: 1, deltas: [2, 1] });
    expect([...(edge?.failing ?? [])]).toEqual([['tests', 2]]);
    expect(edge?.evaluators).toEqual({ passed: 1, failed: 2, total: 3 });
  });

  it('counts an iteration without a number as the one after the last', () => {
    const state = stateAfter((log) =>
      log.iterate(FEATURE, 'design_code', 3, 2).append('iteration_completed', FEATURE, 'design_code'),
    );
    expect(edgeOf(state, 'design_code')?.iteration).toBe(3);
  });

  it('counts the failures of the first two hundred checks of an iteration', () => {
    const details = Array.from({ length: 201 }, (_, index) => ({ name: `check-${index}`, result: 'fail' }));
    const state = stateAfter((log) =>
      log.append('iteration_completed', FEATURE, 'design_code', { evaluators: { details } }),
    );
    expect([...(edgeOf(state, 'design_code')?.failing.keys() ?? [])].at(-1)).toBe('check-199');
  });

  it.each([[-1], [undefined], ['0'], [0.5], [null]])('does not read a delta of %j as 0', (delta) => {
    const state = stateAfter((log) =>
      log.append('iteration_completed', FEATURE, 'design_code', { iteration: 1, delta }),
    );
    expect(edgeOf(state, 'design_code')).toMatchObject({ delta: null, deltas: [null] });
  });

  it('converges only by edge_converged, not by an iteration that reports convergence', () => {
    const log = new EventLogBuilder().append('iteration_completed', FEATURE, 'tdd', {
      status: 'converged',
      delta: 0,
    });
    const name = [...(log.fold().features.get(FEATURE)?.edges.keys() ?? [])][0] ?? '';
    expect(edgeOf(log.fold(), name)).toMatchObject({
      status: 'iterating',
      has_unproven_convergence: true,
      converged_at: null,
    });
    log.append('edge_converged', FEATURE, 'tdd', {
      iteration: 1,
      evaluators: '9/9',
      convergence_type: 'standard',
    });
    expect(edgeOf(log.fold(), name)).toMatchObject({
      status: 'converged',
      has_unproven_convergence: false,
      converged_unstarted: true,
      evaluators: { passed: 9, total: 9 },
      convergence_type: 'standard',
    });
  });

  it('clears its deltas on every start and keeps at most sixteen', () => {
    const log = new EventLogBuilder().iterate(
      FEATURE,
      'design_code',
      ...Array.from({ length: 20 }, (_, index) => 30 - index),
    );
    expect(edgeOf(log.fold(), 'design_code')?.deltas).toEqual(
      Array.from({ length: 16 }, (_, index) => 26 - index),
    );
    expect(edgeOf(log.append('edge_started', FEATURE, 'design_code').fold(), 'design_code')).toMatchObject({
      deltas: [],
      delta: null,
    });
  });

  it('waits for a person after a suspension or an escalation, until the review', () => {
    const log = new EventLogBuilder()
      .append('edge_started', FEATURE, 'design_code')
      .append('claim_suspended', FEATURE, 'design_code');
    expect(edgeOf(log.fold(), 'design_code')?.status).toBe('pending_review');
    log.append('review_completed', FEATURE, 'design_code', { decision: 'CHANGES_REQUESTED' });
    expect(edgeOf(log.fold(), 'design_code')?.status).toBe('iterating');
    log.append('convergence_escalated', FEATURE, 'design_code', { reason: 'outside_role_authority' });
    expect(edgeOf(log.fold(), 'design_code')?.status).toBe('pending_review');
    expect([...log.fold().signals.values()]).toMatchObject([{ kind: 'escalation', edge: 'design_code' }]);
    log.append('review_completed', FEATURE, 'design_code', { decision: 'escalated' });
    expect(edgeOf(log.fold(), 'design_code')?.status).toBe('pending_review');
    log.append('review_completed', FEATURE, 'design_code', { decision: 'approved' });
    expect(log.fold().signals.size).toBe(0);
    expect(edgeOf(log.fold(), 'design_code')?.status).toBe('iterating');
  });

  it.each(['review_approved', 'review_rejected', 'claim_resumed'])('continues after %s', (eventType) => {
    const log = new EventLogBuilder()
      .append('edge_started', FEATURE, 'design_code')
      .append('claim_suspended', FEATURE, 'design_code');
    expect(edgeOf(log.append(eventType, FEATURE, 'design_code').fold(), 'design_code')?.status).toBe(
      'iterating',
    );
  });

  it('continues if the authority action is warn', () => {
    const state = stateAfter((log) =>
      log
        .append('edge_started', FEATURE, 'design_code')
        .append('convergence_escalated', FEATURE, 'design_code', { action: 'warn' }),
    );
    expect(edgeOf(state, 'design_code')?.status).toBe('iterating');
    expect(state.signals.size).toBe(0);
  });

  it('has no holder after its release, and is reopened by a reset', () => {
    const log = new EventLogBuilder()
      .iterate(FEATURE, 'design_code', 2)
      .append('edge_released', FEATURE, 'design_code');
    expect(edgeOf(log.fold(), 'design_code')).toMatchObject({
      status: 'iterating',
      agent_id: null,
      delta: 2,
    });
    log.append('edge_converged', FEATURE, 'design_code').append('edge_reset', FEATURE, 'design_code');
    expect(edgeOf(log.fold(), 'design_code')).toMatchObject({
      status: 'iterating',
      converged_at: null,
      iteration: 0,
      deltas: [],
    });
  });

  it('is blocked while an operator holds it, and pending again if it was never started', () => {
    const log = new EventLogBuilder().append('edge_held', FEATURE, 'design_code', {
      reason: 'wait for legal',
      by: 'alice',
    });
    expect(edgeOf(log.fold(), 'design_code')).toMatchObject({
      status: 'blocked',
      hold: 'wait for legal',
    });
    log.append('edge_unheld', FEATURE, 'design_code');
    expect(edgeOf(log.fold(), 'design_code')).toBeUndefined();
  });
});

describe('a spawn', () => {
  const spawnPayload = (name: string, edge: string | null = 'requirements→design') => ({
    parent: FEATURE,
    child: name,
    vector_type: 'spike',
    reason: 'which database?',
    profile: 'spike',
    ...(edge === null ? {} : { triggered_at_edge: edge }),
  });

  // req: PRJ-001
  it('blocks the edge it was triggered at until every child of that edge has folded back', () => {
    const log = new EventLogBuilder()
      .append('edge_started', FEATURE, 'requirements_design')
      .append('spawn_created', null, null, spawnPayload('SPIKE-1'))
      .append('spawn_created', null, null, spawnPayload('SPIKE-2'));
    expect(edgeOf(log.fold(), 'requirements_design')).toMatchObject({
      status: 'blocked',
      blocked_by: 'SPIKE-2',
    });
    log.append('spawn_folded_back', null, null, {
      parent: FEATURE,
      child: 'SPIKE-2',
      fold_back_status: 'converged',
    });
    expect(edgeOf(log.fold(), 'requirements_design')).toMatchObject({
      status: 'blocked',
      blocked_by: 'SPIKE-1',
    });
    log.append('spawn_folded_back', null, null, { child: 'SPIKE-1', fold_back_status: 'time_box_expired' });
    const state = log.fold();
    expect(edgeOf(state, 'requirements_design')).toMatchObject({ status: 'iterating', blocked_by: null });
    expect(state.features.get('SPIKE-1')).toMatchObject({
      folded_back: 'time_box_expired',
      vector_type: 'spike',
      parent: { feature: FEATURE, edge: 'requirements_design', reason: 'which database?' },
    });
  });

  it('does not block a converged edge, and leaves no trace on an edge that was never started', () => {
    const log = new EventLogBuilder()
      .converge(FEATURE, 'requirements_design')
      .append('spawn_created', null, null, spawnPayload('SPIKE-1'));
    expect(edgeOf(log.fold(), 'requirements_design')?.status).toBe('converged');
    log.append('spawn_created', null, null, spawnPayload('SPIKE-2', 'design_code'));
    expect(edgeOf(log.fold(), 'design_code')?.status).toBe('blocked');
    log.append('spawn_folded_back', null, null, { parent: FEATURE, child: 'SPIKE-2' });
    expect(edgeOf(log.fold(), 'design_code')).toBeUndefined();
  });

  it('without an edge blocks nothing, and no feature is its own parent', () => {
    const state = stateAfter((log) =>
      log
        .append('spawn_created', null, null, spawnPayload('SPIKE-1', null))
        .append('spawn_created', null, null, { parent: 'X', child: 'X', triggered_at_edge: 'design_code' }),
    );
    expect(state.features.get(FEATURE)?.edges.size).toBe(0);
    expect(state.features.get('X')?.parent).toBeNull();
  });
});

describe('an event under the name that other Genesis tools use', () => {
  it('converges an edge with convergence_achieved', () => {
    const state = stateAfter((log) =>
      log
        .append('edge_started', FEATURE, 'design_code')
        .append('convergence_achieved', FEATURE, 'design_code', { delta: 0 }),
    );
    expect(edgeOf(state, 'design_code')).toMatchObject({ status: 'converged', delta: 0 });
  });

  it('records a feature with feature_spawned, with and without a parent', () => {
    const state = stateAfter((log) =>
      log
        .append('feature_spawned', null, null, { parent_vector: FEATURE, child_vector: 'REQ-F-B-001' })
        .append('feature_spawned', 'REQ-F-C-001', null, { title: 'C', profile: 'full', parent: FEATURE })
        .append('feature_spawned', 'REQ-F-D-001', null, { vector_type: 'spike', parent: null }),
    );
    expect([...(state.features.get(FEATURE)?.children.keys() ?? [])]).toEqual(['REQ-F-B-001', 'REQ-F-C-001']);
    expect(state.features.get('REQ-F-C-001')).toMatchObject({ title: 'C', profile: 'full' });
    const rows = featureRows([], state, () => null).map(({ feature }) => feature.feature_id);
    expect(rows).toEqual(['REQ-F-B-001', 'REQ-F-C-001', 'REQ-F-D-001']);
  });

  it('records a review with human_review_completed and review_approved', () => {
    const edgeAfterReview = (type: string, payload: object) =>
      edgeOf(
        stateAfter((log) =>
          log.append('edge_started', FEATURE, 'design_code').append(type, FEATURE, 'design_code', payload),
        ),
        'design_code',
      )?.review;
    const decision = { reviewer: 'ann', decision: 'approved', feedback: 'good' };
    expect(edgeAfterReview('human_review_completed', decision)).toMatchObject({
      decision: 'APPROVED',
      reviewer: 'ann',
      comment: 'good',
    });
    expect(edgeAfterReview('review_approved', { actor: 'ann' })).toMatchObject({
      decision: 'APPROVED',
      reviewer: 'ann',
    });
  });

  it('has a known type, like every other event that is folded', () => {
    expect([...EVENT_HANDLERS.keys()].filter((type) => !isKnownEventType(type))).toEqual([]);
  });
});

describe('a signal for a person', () => {
  it('is an intent until a spawn or a specification change names it', () => {
    const log = new EventLogBuilder();
    for (const intent_id of ['INT-1', 'INT-2', 'INT-3', 'INT-4', 'INT-12']) {
      log.append('intent_raised', FEATURE, null, { intent_id, trigger: 'latency rose', severity: 'low' });
    }
    expect([...log.fold().signals.values()][0]).toMatchObject({
      id: 'INT-1',
      severity: 'low',
      says: 'latency rose',
    });
    log
      .append('spec_modified', null, null, { trigger_intent: 'INT-2' })
      .append('spawn_created', null, null, {
        parent: FEATURE,
        child: 'S',
        vector_type: 'spike',
        reason: 'see INT-1.',
      })
      .append('escalation_resolved', null, null, { intent_id: 'INT-3', action: 'dismiss' })
      .append('intent_resolved', null, null, { intent_id: 'INT-4', resolution: 'closed_stale' });
    expect([...log.fold().signals.values()].map(({ id }) => id)).toEqual(['INT-12']);
  });

  it('is a stale claim, once per episode, however often a tool repeats the event', () => {
    const log = new EventLogBuilder().append('edge_started', FEATURE, 'design_code', {}, { agent_id: 'ada' });
    log.append('claim_expired', FEATURE, 'design_code', { seconds_idle: 3700 }, { agent_id: 'ada' });
    log.append('claim_expired', FEATURE, 'design→code', { seconds_idle: 7300 }, { agent_id: 'ada' });
    const state = log.fold();
    expect([...state.signals.values()]).toMatchObject([{ kind: 'stale_claim', position: 2 }]);
    expect(edgeOf(state, 'design_code')).toMatchObject({ agent_id: 'ada', status: 'iterating' });
    expect(log.append('heartbeat', FEATURE, 'design_code').fold().signals.size).toBe(0);
    expect(log.append('claim_expired', FEATURE, 'design_code').fold().signals.size).toBe(1);
  });

  it('is not raised for a claim that has ended', () => {
    const log = new EventLogBuilder().append('edge_started', FEATURE, 'design_code');
    log.append('claim_expired', FEATURE, 'design_code', { cause: 'EXPIRED', disposition: 'held' });
    log.append('claim_expired', FEATURE, 'design_code', { cause: 'EXPIRED', disposition: 'eligible' });
    expect(log.fold().signals.size).toBe(0);
    expect(edgeOf(log.fold(), 'design_code')).toMatchObject({ agent_id: null, status: 'iterating' });
  });
});

describe('defects of the reference implementation that the fold avoids', () => {
  it('neither an expiry nor a refusal is work on the feature', () => {
    const state = stateAfter((log) =>
      log
        .append('edge_started', FEATURE, 'design_code')
        .append('claim_expired', FEATURE, 'design_code')
        .append('claim_rejected', FEATURE, 'design_code', { holding_agent: 'primary' }, { agent_id: 'bob' }),
    );
    expect(state.features.get(FEATURE)?.last_position).toBe(1);
    expect(edgeOf(state, 'design_code')?.positions.last).toBe(1);
    expect(state.position).toBe(3);
  });

  it('an edge_released by a non-holder does not free the claim', () => {
    const log = new EventLogBuilder().append('edge_started', FEATURE, 'design_code', {}, { agent_id: 'ada' });
    log.append('edge_released', FEATURE, 'design_code', {}, { agent_id: 'bob' });
    expect(edgeOf(log.fold(), 'design_code')?.agent_id).toBe('ada');
    log.append(
      'edge_released',
      FEATURE,
      'design_code',
      { reason: 'FORCED' },
      { agent_id: 'bob', subject: `${FEATURE}#design_code`, seq: 2 },
    );
    expect(edgeOf(log.fold(), 'design_code')?.agent_id).toBeNull();
  });

  it('one edge has one state, however it is spelled', () => {
    const state = stateAfter((log) =>
      log.append('edge_started', FEATURE, 'design→code').append('edge_converged', FEATURE, 'design_code'),
    );
    expect(state.features.get(FEATURE)?.edges.size).toBe(1);
    expect(edgeOf(state, 'design_code')?.status).toBe('converged');
  });

  it('the role of the agent that started an edge is kept', () => {
    const state = stateAfter((log) =>
      log.append('edge_started', FEATURE, 'design_code', {}, { agent_role: 'architect' }),
    );
    expect(edgeOf(state, 'design_code')?.agent_role).toBe('architect');
  });
});

describe('a foreign line', () => {
  const now_ms = Date.parse('2026-04-01T00:00:00Z');
  const origin = { tenant_id: 'acme', project_id: 'shop', source: 'old.jsonl', now_ms };
  const read = (line: unknown, position: number): EventEnvelope => {
    const event = parseForeignLine(line, origin, position);
    if (typeof event === 'string') throw new Error(event);
    return { position, event_id: 'id', ...event };
  };

  it('gives the same state with its fields at the top, inside data, and in both', () => {
    const head = { event_type: 'iteration_completed', timestamp: '2026-03-01T10:00:00+11:00', project: 'p' };
    const fields = { feature: FEATURE, edge: 'design→code', iteration: 3, delta: 2 };
    const lines = [
      { ...head, ...fields },
      { ...head, data: fields },
      { ...head, status: 'iterating', ...fields, data: { status: 'x', ...fields } },
    ];
    const states = lines.map((line) => edgeOf(foldAll([read(line, 1)]), 'design_code'));
    expect(states[0]).toMatchObject({ iteration: 3, delta: 2 });
    expect(states[1]).toEqual(states[0]);
    expect(states[2]).toEqual(states[0]);
  });

  it('of an unknown type is counted by its name, and a line of a known type is not', () => {
    const state = stateAfter((log) =>
      log
        .append('moon_phase')
        .append('moon_phase')
        .append('edge_claim', FEATURE, 'design_code')
        .append('evaluator_detail'),
    );
    // A claim is a command, so no log should contain it as an event.
    expect([...state.unknown_types].sort()).toEqual([
      ['edge_claim', 1],
      ['moon_phase', 2],
    ]);
    expect(state.features.size).toBe(0);
  });
});

describe('the state of the project', () => {
  it('keeps its releases and the last report of gaps', () => {
    const state = stateAfter((log) =>
      log
        .append('project_initialized')
        .append('project_initialized')
        .append('checkpoint_created', null, null, { context_hash: 'sha256:ab', message: 'before' })
        .append('release_created', null, null, { version: '1.0.0', features_included: 3 })
        .append('gaps_validated', null, null, { total_req_keys: 5, full_coverage: 4, no_coverage: 1 }),
    );
    expect(state.unknown_types.size).toBe(0);
    expect(state.releases).toMatchObject([{ version: '1.0.0', features_included: 3 }]);
    expect(state.last_gaps).toMatchObject({ total_req_keys: 5, full_coverage: 4, no_coverage: 1 });
  });
});

const TYPES = [
  'edge_started', 'heartbeat', 'claim_expired', 'edge_released', 'claim_suspended', 'claim_resumed',
  'edge_converged', 'result_adopted', 'convergence_escalated', 'review_completed', 'edge_held', 'edge_unheld',
  'edge_reset', 'iteration_completed', 'spawn_created', 'spawn_folded_back', 'intent_raised', 'spec_modified',
  'escalation_resolved', 'checkpoint_created', 'release_created', 'gaps_validated', 'project_initialized', 'odd',
]; // biome-ignore format: a list
const smallChoice = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
const eventsWith = (payload: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<EventEnvelope[]> =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom(...TYPES),
        smallChoice('F', 'G', 'S'),
        smallChoice('design→code', 'tdd'),
        payload,
      ),
      {
        maxLength: 40,
      },
    )
    .map((drawnEvents) => {
      const log = new EventLogBuilder();
      for (const [type, feature, edge, fields] of drawnEvents) log.append(type, feature, edge, fields);
      return log.events;
    });
const plausiblePayload = fc.record(
  {
    iteration: fc.integer({ min: -1, max: 5 }),
    delta: fc.integer({ min: -1, max: 3 }),
    status: fc.constantFrom('converged', 'blocked', 'iterating'),
    parent: fc.constantFrom('F', 'G'),
    child: fc.constantFrom('S', 'G'),
    triggered_at_edge: fc.constantFrom('design_code', 'code_unit_tests'),
    intent_id: fc.constantFrom('INT-1', 'INT-2'),
    disposition: fc.constantFrom('held', 'eligible'),
  },
  { requiredKeys: [] },
);
const arbitraryPayload = fc.dictionary(
  fc.constantFrom(
    'iteration', 'delta', 'status', 'evaluators', 'details', 'data', 'parent', 'child', 'reason', 'intents',
    'decision', 'edge', 'feature', 'intent_id', 'severity', 'time_box', '__proto__', 'context_hash',
  ), // biome-ignore format: a list
  fc.oneof(fc.anything(), fc.constant({ details: [null, { name: 3 }, { name: 'a', result: 'fail' }] })),
) as fc.Arbitrary<Record<string, unknown>>;

describe('folding events into progress', () => {
  it('gives the same state for a log in two parts as for the whole log, even if the parts overlap', () => {
    fc.assert(
      fc.property(eventsWith(plausiblePayload), fc.nat(40), fc.nat(40), (allEvents, cut, overlap) => {
        const parts = foldAll(allEvents.slice(Math.max(cut - overlap, 0)), foldAll(allEvents.slice(0, cut)));
        expect(parts).toEqual(foldAll(allEvents));
      }),
      { numRuns: 300 },
    );
  });

  it('never throws, whatever a payload contains', () => {
    fc.assert(
      fc.property(eventsWith(arbitraryPayload), (events) => {
        expect(foldAll(events).position).toBe(events.length);
      }),
      { numRuns: 500 },
    );
  });

  it('folds 10,000 events and prints the time', () => {
    const log = new EventLogBuilder();
    for (let featureNumber = 0; log.events.length < 10_000; featureNumber += 1) {
      log.iterate(
        `REQ-F-X-${featureNumber % 100}`,
        ['design→code', 'code_unit_tests'][featureNumber % 2] ?? '',
        3,
        2,
        1,
        0,
      );
      log.append('edge_converged', `REQ-F-X-${featureNumber % 100}`, 'design_code', { iteration: 4 });
    }
    const state = emptyMethodologyState();
    const startMs = performance.now();
    for (const event of log.events) evolveMethodology(state, event);
    console.log(`fold of 10,000 events: ${(performance.now() - startMs).toFixed(1)} ms`);
    expect(state.features.size).toBe(100);
  });
});
