import { describe, expect, test } from 'vitest';
import {
  CoordinatorHarness,
  forEachStore,
  type OpenHarness,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import { OPEN_CALLER } from '../authentication/caller.js';

const F = 'REQ-F-AUTH-001';
const spike = { vector_type: 'spike', parent: F, reason: 'which library', agent_id: 'alpha' } as const;
const answer = { fold_back_status: 'converged', summary: 'the second', recommendation: 'proceed' } as const;

const featureFile = (id: string, extraLines = '') => `feature: ${id}
title: Sign in
intent: INT-001
vector_type: feature
profile: standard
priority: critical
status: pending
trajectory: {}
${extraLines}`;

const EDGES = ['intent_requirements', 'requirements_design', 'design_code', 'code_unit_tests'] as const;
const edgeFile = (edge: string) =>
  `edge: ${edge}\nchecklist:\n  - {name: done, type: deterministic, criterion: it is done, required: true, command: make}\nconvergence: {rule: all_required_checks_pass}\n`;
const evaluators = {
  passed: 1,
  failed: 0,
  skipped: 0,
  total: 1,
  details: [{ name: 'done', result: 'pass' }],
};

/** A configured project with one feature. */
async function openConfigured(open: OpenHarness, extraLines = ''): Promise<CoordinatorHarness> {
  const harness = await open();
  const files = {
    ...Object.fromEntries(EDGES.map((edge) => [`graph/edges/${edge}.yml`, edgeFile(edge)])),
    [`features/active/${F}.yml`]: featureFile(F, extraLines),
    '../specification/INTENT.md': '# Sign in\n\nPeople sign in.\n',
  };
  unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
  return harness;
}

async function convergeEdges(
  harness: CoordinatorHarness,
  feature_id: string,
  ...edges: readonly string[]
): Promise<void> {
  for (const edge of edges) {
    const by = { agent_id: 'ann', session_id: 's-ann', agent_role: 'human' };
    const claimed = unwrap(
      await harness.coordinator.claims.claimTask(PROJECT_KEY, { feature_id, edge, ...by }),
    );
    expect(claimed).toMatchObject({ reason: 'GRANTED' });
    const task_id = `${feature_id}#${edge}`;
    const generation = claimed.claim?.generation ?? 0;
    const submitted = await harness.coordinator.holder.submitResult(PROJECT_KEY, {
      task_id,
      session_id: 's-ann',
      generation,
      result_data: edge,
      evaluators,
    });
    expect(submitted).toMatchObject({ accepted: true });
  }
}

const typesOf = async (harness: CoordinatorHarness) =>
  (await harness.events()).map(({ event_type }) => event_type);

/** Replays the log and expects no rule violation. */
async function expectSound(harness: CoordinatorHarness): Promise<void> {
  const checker = new PolicyAwareLogChecker();
  for (const event of await harness.events()) expect(checker.checkEvent(event)).toEqual([]);
}

forEachStore('a spawn', (open) => {
  // req: EVT-019
  test('creates a record with the next numbered id and a time box, and blocks the named edge', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    const first = await methodology.spawn(PROJECT_KEY, { ...spike, edge: 'design→code' });
    expect(first).toMatchObject({
      success: true,
      reason: 'SPAWNED',
      feature_id: 'REQ-F-SPIKE-001',
      blocks: 'design_code',
      vector: {
        profile: 'spike',
        priority: 'critical',
        intent: 'INT-001',
        time_box: { duration_seconds: 604_800, on_expiry: 'fold_back', started: '2026-01-04T06:00:00.000Z' },
        parent: { feature: F, edge: 'design_code', reason: 'which library' },
      },
    });
    expect(await methodology.spawn(PROJECT_KEY, spike)).toMatchObject({
      feature_id: 'REQ-F-SPIKE-002',
      blocks: null,
    });
    const events = (await harness.events()).filter(({ event_type }) => event_type === 'spawn_created');
    expect(events.map(({ payload }) => payload.triggered_at_edge)).toEqual(['design_code', undefined]);
    await expectSound(harness);
  });

  test('gets a unique number, also among concurrent spawns and after a restart', async () => {
    const harness = await openConfigured(open);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => harness.coordinator.methodology.spawn(PROJECT_KEY, spike)),
    );
    const ids = replies.map((reply) => ('feature_id' in reply ? reply.feature_id : reply.detail));
    expect(new Set(ids).size).toBe(20);
    const namedSpawn = {
      vector_type: 'feature',
      feature_id: 'REQ-F-PAY-001',
      reason: 'pay',
      agent_id: 'alpha',
    };
    const namedReplies = await Promise.all(
      [1, 2].map(() => harness.coordinator.methodology.spawn(PROJECT_KEY, namedSpawn)),
    );
    expect(namedReplies.map((reply) => unwrap(reply).reason).sort()).toEqual(['FEATURE_EXISTS', 'SPAWNED']);
    await harness.restart();
    const next = await harness.coordinator.methodology.spawn(PROJECT_KEY, spike);
    expect(next).toMatchObject({ feature_id: 'REQ-F-SPIKE-021' });
    await expectSound(harness);
  });

  test('takes effect once when it is repeated with the same request id', async () => {
    const harness = await openConfigured(open);
    const request = { ...spike, request_id: 'r1' };
    const first = await harness.coordinator.methodology.spawn(PROJECT_KEY, request);
    expect(await harness.coordinator.methodology.spawn(PROJECT_KEY, request)).toEqual(first);
    const other = await harness.coordinator.methodology.spawn(PROJECT_KEY, { ...request, reason: 'another' });
    expect(other).toMatchObject({ problem: 'IDEMPOTENCY_CONFLICT' });
    expect((await typesOf(harness)).filter((type) => type === 'spawn_created')).toHaveLength(1);
  });

  test('is refused with a reason and a next step, and nothing is written', async () => {
    const harness = await openConfigured(
      open,
      'time_box: {enabled: true, duration: 2 hours, started: "2026-01-04T05:00:00Z"}\n',
    );
    const { methodology } = harness.coordinator;
    const before = await harness.position();
    const other = { ...PROJECT_KEY, project_id: 'other' };
    unwrap(await harness.coordinator.plans.put(other, planOf('A-001-x')));
    const spawnRefusalReason = async (fields: object, projectKey = PROJECT_KEY) => {
      const reply = unwrap(await methodology.spawn(projectKey, { ...spike, ...fields }));
      expect(reply).toMatchObject({ success: false, feature_id: null, next: expect.stringMatching(/\w/) });
      return reply.reason;
    };
    expect(await spawnRefusalReason({}, other)).toBe('NOT_INITIALISED');
    expect(await spawnRefusalReason({ parent: 'REQ-F-NONE-001' })).toBe('UNKNOWN_FEATURE');
    expect(await spawnRefusalReason({ profile: 'none' })).toBe('UNKNOWN_PROFILE');
    expect(await spawnRefusalReason({ profile: 'constructor' })).toBe('UNKNOWN_PROFILE');
    expect(await spawnRefusalReason({ edge: 'uat_tests_cicd' })).toBe('UNKNOWN_EDGE');
    expect(await spawnRefusalReason({ duration: 'a while' })).toBe('INVALID_DURATION');
    expect(await spawnRefusalReason({ duration: '90m' })).toBe('PARENT_TIME_BOX');
    expect(await spawnRefusalReason({ vector_type: 'feature', feature_id: F, parent: undefined })).toBe(
      'FEATURE_EXISTS',
    );
    expect(await harness.position()).toBe(before);
    // By default the child gets the parent's remaining time.
    expect(await methodology.spawn(PROJECT_KEY, spike)).toMatchObject({
      vector: { time_box: { duration_seconds: 3600 } },
    });
    harness.advance(3600);
    expect(await spawnRefusalReason({})).toBe('PARENT_TIME_BOX');
  });

  test('can be nested at most three levels deep, and is refused for a converged parent', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    let parent = F;
    for (const depth of [1, 2, 3]) {
      const reply = unwrap(
        await methodology.spawn(PROJECT_KEY, { ...spike, parent, duration: `${10 - depth}h` }),
      );
      parent = reply.feature_id ?? '';
    }
    expect(await methodology.spawn(PROJECT_KEY, { ...spike, parent, duration: '1h' })).toMatchObject({
      reason: 'NESTED_TOO_DEEP',
    });
    await convergeEdges(
      harness,
      F,
      'intent_requirements',
      'requirements_design',
      'design_code',
      'code_unit_tests',
    );
    expect(await methodology.spawn(PROJECT_KEY, spike)).toMatchObject({ reason: 'PARENT_CONVERGED' });
  });
});

forEachStore('a fold-back', (open) => {
  // req: EVT-020
  test('happens once, when the question is answered, and unblocks the parent', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    await methodology.spawn(PROJECT_KEY, { ...spike, edge: 'design_code' });
    const child = { feature_id: 'REQ-F-SPIKE-001', ...answer };
    expect(await methodology.foldBack(PROJECT_KEY, child)).toMatchObject({
      success: false,
      reason: 'NOT_CONVERGED',
    });
    const expired = { ...child, fold_back_status: 'time_box_expired' };
    expect(await methodology.foldBack(PROJECT_KEY, expired)).toMatchObject({ reason: 'TIME_BOX_RUNNING' });
    const replies = await Promise.all(
      [1, 2].map(() => methodology.foldBack(PROJECT_KEY, { ...child, question_answered: true })),
    );
    expect(replies.map((reply) => ('reason' in reply ? reply.reason : reply)).sort()).toEqual([
      'ALREADY_FOLDED_BACK',
      'FOLDED_BACK',
    ]);
    expect(replies.find((reply) => 'success' in reply && reply.success)).toMatchObject({
      parent: F,
      unblocked: 'design_code',
      remediation: null,
    });
    expect((await typesOf(harness)).filter((type) => type === 'spawn_folded_back')).toHaveLength(1);
    await harness.restart();
    const again = await harness.coordinator.methodology.foldBack(PROJECT_KEY, child);
    expect(again).toMatchObject({ reason: 'ALREADY_FOLDED_BACK' });
    await expectSound(harness);
  });

  test('is allowed after the time box expires, and refused for a feature without a parent', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    await methodology.spawn(PROJECT_KEY, { ...spike, duration: '1h' });
    harness.advance(3600);
    const expired = { ...answer, fold_back_status: 'time_box_expired' };
    expect(
      await methodology.foldBack(PROJECT_KEY, { ...expired, feature_id: 'REQ-F-SPIKE-001' }),
    ).toMatchObject({
      success: true,
    });
    expect(await methodology.foldBack(PROJECT_KEY, { ...expired, feature_id: F })).toMatchObject({
      reason: 'NO_PARENT',
    });
    expect(await methodology.foldBack(PROJECT_KEY, { ...expired, feature_id: 'REQ-F-X-1' })).toMatchObject({
      reason: 'UNKNOWN_FEATURE',
    });
  });

  test('of a hotfix creates a remediation feature', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    await methodology.spawn(PROJECT_KEY, { ...spike, vector_type: 'hotfix' });
    harness.advance(4 * 3600);
    const hotfix = { ...answer, feature_id: 'REQ-F-HOTFIX-001', fold_back_status: 'time_box_expired' };
    expect(await methodology.foldBack(PROJECT_KEY, hotfix)).toMatchObject({
      remediation: 'REQ-F-REMEDY-001',
    });
    expect(await methodology.feature(PROJECT_KEY, { feature: 'REQ-F-REMEDY-001' })).toMatchObject({
      feature_id: 'REQ-F-REMEDY-001',
    });
    const spawned = (await harness.events()).filter(({ event_type }) => event_type === 'spawn_created');
    expect(spawned.map(({ payload }) => payload.child)).toEqual(['REQ-F-HOTFIX-001', 'REQ-F-REMEDY-001']);
  });
});

forEachStore('a checkpoint', (open) => {
  // req: EVT-021
  test('describes the project at its position, regardless of later events', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    await convergeEdges(harness, F, 'intent_requirements');
    const position = await harness.position();
    const request = {
      context_hash: 'sha256:abc',
      message: 'before the design',
      git_ref: 'c0ffee',
      request_id: 'c1',
    };
    const first = unwrap(await methodology.checkpoint(PROJECT_KEY, request));
    expect(first).toMatchObject({
      success: true,
      snapshot: { position, context_hash: 'sha256:abc', message: 'before the design', git_ref: 'c0ffee' },
    });
    expect(first.snapshot?.feature_states).toMatchObject([
      {
        feature_id: F,
        status: 'in_progress',
        edges: [{ edge: 'intent_requirements', status: 'converged' }, {}, {}, {}],
      },
    ]);
    await convergeEdges(harness, F, 'requirements_design');
    await harness.restart();
    expect(await harness.coordinator.methodology.checkpoint(PROJECT_KEY, request)).toEqual(first);
    const unknown = { ...request, request_id: 'c2', features: ['REQ-F-X-1'] };
    expect(await harness.coordinator.methodology.checkpoint(PROJECT_KEY, unknown)).toMatchObject({
      reason: 'UNKNOWN_FEATURE',
    });
  });
});

forEachStore('gaps', (open) => {
  const coverage = {
    layers_run: [1, 2],
    keys: [
      { key: 'REQ-F-AUTH-001', code: 2, tests: 1, telemetry: 0 },
      { key: 'REQ-F-PAY-001', code: 1, tests: 0, telemetry: 0 },
      { key: 'REQ-F-PAY-002', code: 0, tests: 0, telemetry: 0 },
    ],
  };

  // req: EVT-023
  test('raise one intent per domain, and no second one when they are found again', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    const dryRun = unwrap(await methodology.gaps(PROJECT_KEY, { ...coverage, dry_run: true }));
    expect(dryRun).toMatchObject({
      result: 'GAPS',
      event_id: null,
      full_coverage: 1,
      no_coverage: 1,
      partial_coverage: 1,
    });
    expect(await typesOf(harness)).not.toContain('gaps_validated');
    const first = unwrap(await methodology.gaps(PROJECT_KEY, coverage));
    expect(first.clusters).toMatchObject([
      { domain: 'PAY', severity: 'high', key_count: 2, layers: ['code', 'tests'] },
    ]);
    expect(first.clusters).toEqual(dryRun.clusters);
    await methodology.gaps(PROJECT_KEY, { ...coverage, agent_id: 'beta' });
    const types = await typesOf(harness);
    expect(types.filter((type) => type === 'gaps_validated')).toHaveLength(2);
    expect(types.filter((type) => type === 'intent_raised')).toHaveLength(1);
    expect(await methodology.recordedGaps(PROJECT_KEY)).toMatchObject({
      last: { total_req_keys: 3, full_coverage: 1 },
      open: [{ id: first.clusters[0]?.intent_id, kind: 'intent', severity: 'high' }],
    });
  });

  test('give the result COMPLETE if none are found, and a spawn that names an intent resolves the intent', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    expect(await methodology.gaps(PROJECT_KEY, { ...coverage, keys: [coverage.keys[0]] })).toMatchObject({
      result: 'COMPLETE',
    });
    const { clusters } = unwrap(await methodology.gaps(PROJECT_KEY, coverage));
    const intent = clusters[0]?.intent_id ?? '';
    const feature = {
      vector_type: 'feature',
      feature_id: 'REQ-F-PAY-001',
      reason: 'pay',
      intent,
      agent_id: 'a',
    };
    expect(await methodology.spawn(PROJECT_KEY, feature)).toMatchObject({
      success: true,
      feature_id: 'REQ-F-PAY-001',
    });
    expect(await methodology.recordedGaps(PROJECT_KEY)).toMatchObject({ open: [] });
  });
});

forEachStore('a release', (open) => {
  test('an agent cannot append the events of a release, a spawn or a fold-back', async () => {
    const harness = await openConfigured(open);
    const { coordinator } = harness;
    const agent = { ...OPEN_CALLER, principal: 'key-1', may_review: false };
    const payloadByType = {
      spawn_folded_back: { parent: 'REQ-F-NONE', child: F, fold_back_status: 'converged' },
      spawn_created: {
        parent: F,
        child: 'X',
        vector_type: 'spike',
        reason: 'r',
        triggered_at_edge: EDGES[0],
      },
      release_created: { version: '1.0.0', features_included: 1 },
    };
    for (const [event_type, payload] of Object.entries(payloadByType)) {
      const body = { event_type, agent_id: 'eve', payload };
      expect(await coordinator.holder.appendEvent(PROJECT_KEY, body, agent)).toMatchObject({
        problem: 'INVALID_EVENT',
      });
    }
    const request = { version: '1.0.0', known_gaps: 0 };
    expect(await coordinator.methodology.release(PROJECT_KEY, request)).toMatchObject({
      reason: 'NOT_READY',
    });
    // A reviewer can append release_created: this is how decisions made offline are imported.
    const body = { event_type: 'release_created', agent_id: 'ann', payload: payloadByType.release_created };
    expect(await coordinator.holder.appendEvent(PROJECT_KEY, body)).toMatchObject({ reason: 'APPENDED' });
  });

  test('a reviewer can append decisions of people, and an agent cannot', async () => {
    const harness = await openConfigured(open);
    const { coordinator } = harness;
    const agent = { ...OPEN_CALLER, principal: 'key-1', may_review: false };
    const reviewer = { ...OPEN_CALLER, principal: 'key-2', may_work: false };
    const payloadByType = {
      spec_modified: { trigger_intent: 'INT-1', what_changed: ['people log out, too'] },
      escalation_resolved: { escalation_type: 'intent', intent_id: 'INT-1', action: 'dismiss' },
    };
    for (const [event_type, payload] of Object.entries(payloadByType)) {
      const body = { event_type, agent_id: 'eve', payload };
      expect(await coordinator.holder.appendEvent(PROJECT_KEY, body, agent)).toMatchObject({
        problem: 'FORBIDDEN',
      });
      expect(await coordinator.holder.appendEvent(PROJECT_KEY, body, reviewer)).toMatchObject({
        reason: 'APPENDED',
      });
    }
    const step = { event_type: 'gaps_validated', agent_id: 'eve', payload: {} };
    expect(await coordinator.holder.appendEvent(PROJECT_KEY, step, reviewer)).toMatchObject({
      problem: 'FORBIDDEN',
    });
  });

  // req: EVT-024
  test('is refused until its readiness checks pass, and is created once per version', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    const request = { version: '1.0.0', known_gaps: 0 };
    const early = unwrap(await methodology.release(PROJECT_KEY, request));
    expect(early).toMatchObject({ success: false, reason: 'NOT_READY', release: null });
    expect(early.readiness.filter(({ passed }) => !passed).map(({ name }) => name)).toEqual([
      'critical_features',
    ]);
    await convergeEdges(
      harness,
      F,
      'intent_requirements',
      'requirements_design',
      'design_code',
      'code_unit_tests',
    );
    expect(await methodology.release(PROJECT_KEY, { version: '1.0.0' })).toMatchObject({
      reason: 'NOT_READY',
    });
    const dryRun = await methodology.release(PROJECT_KEY, { ...request, dry_run: true });
    expect(dryRun).toMatchObject({ success: true, reason: 'READY', release: { features_included: [F] } });
    expect(await typesOf(harness)).not.toContain('release_created');
    const replies = await Promise.all([
      methodology.release(PROJECT_KEY, request),
      methodology.release(PROJECT_KEY, request),
    ]);
    expect(replies.map((reply) => ('reason' in reply ? reply.reason : reply)).sort()).toEqual([
      'RELEASED',
      'VERSION_EXISTS',
    ]);
    expect((await typesOf(harness)).filter((type) => type === 'release_created')).toHaveLength(1);
    await harness.restart();
    expect(await harness.coordinator.methodology.release(PROJECT_KEY, request)).toMatchObject({
      reason: 'VERSION_EXISTS',
    });
    await expectSound(harness);
  });
});

forEachStore('a review', (open) => {
  const sha = 'a'.repeat(64);

  async function openWithGate(harness: CoordinatorHarness) {
    const by = { agent_id: 'alpha', session_id: 's1', agent_role: 'code_agent' };
    const claimed = unwrap(
      await harness.coordinator.claims.claimTask(PROJECT_KEY, {
        feature_id: F,
        edge: 'intent_requirements',
        ...by,
      }),
    );
    const task_id = `${F}#intent_requirements`;
    const gate = { iteration: 2, candidate_sha256: sha };
    const handle = { task_id, session_id: 's1', expected_generation: claimed.claim?.generation };
    unwrap(await harness.coordinator.holder.suspendClaim(PROJECT_KEY, { ...handle, ...gate }));
  }

  test('is listed with every field that a decision needs, and decided once, for that candidate', async () => {
    const harness = await openConfigured(open);
    const { methodology } = harness.coordinator;
    await openWithGate(harness);
    const { reviews } = unwrap(await methodology.reviews(PROJECT_KEY));
    expect(reviews).toMatchObject([
      {
        feature_id: F,
        edge: 'intent_requirements',
        generation: 1,
        iteration: 2,
        candidate_sha256: sha,
        agent_id: 'alpha',
        agent_role: 'code_agent',
        since: '2026-01-04T06:00:00.000Z',
      },
    ]);
    expect(reviews[0]?.deadline).not.toBeNull();
    expect(await methodology.release(PROJECT_KEY, { version: '1.0.0', known_gaps: 0 })).toMatchObject({
      reason: 'NOT_READY',
    });
    const named = {
      feature_id: F,
      edge: 'intent→requirements',
      generation: 1,
      iteration: 2,
      candidate_sha256: sha,
    };
    const other = { ...named, candidate_sha256: 'b'.repeat(64), decision: 'approved' };
    expect(await methodology.review(PROJECT_KEY, other)).toMatchObject({
      success: false,
      reason: 'STALE_REVIEW',
    });
    expect(
      await methodology.review(PROJECT_KEY, { ...named, decision: 'refined', comment: 'shorter' }),
    ).toMatchObject({
      success: true,
      reason: 'CHANGES_REQUESTED',
    });
    expect(await methodology.review(PROJECT_KEY, { ...named, decision: 'approved' })).toMatchObject({
      success: false,
    });
    expect(await methodology.reviews(PROJECT_KEY)).toMatchObject({ reviews: [] });
  });

  test('is refused if it does not name the candidate it decides on', async () => {
    const harness = await openConfigured(open);
    const bare = { feature_id: F, edge: 'intent_requirements', decision: 'approved' };
    expect(await harness.coordinator.methodology.review(PROJECT_KEY, bare)).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
    const both = { ...bare, task_id: 'A-1', generation: 1, iteration: 1, candidate_sha256: sha };
    expect(await harness.coordinator.methodology.review(PROJECT_KEY, both)).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
  });
});

forEachStore('the read-only views', (open) => {
  test('recommend the next step and write nothing, before and after the project is initialised', async () => {
    const uninitialised = await open();
    unwrap(await uninitialised.coordinator.plans.put(PROJECT_KEY, planOf('A-001-x')));
    expect(await uninitialised.coordinator.methodology.start(PROJECT_KEY, {})).toMatchObject({
      state: 'UNINITIALISED',
      feature: null,
    });
    const harness = await openConfigured(open);
    const before = await harness.position();
    for (const dry_run of [true, false]) {
      expect(await harness.coordinator.methodology.start(PROJECT_KEY, { dry_run })).toMatchObject({
        execution_id: null,
        state: 'IN_PROGRESS',
        feature: F,
        edge: 'intent_requirements',
        iteration: 1,
        routing_reason: expect.stringMatching(/\w/),
        position: before,
      });
    }
    expect(await harness.position()).toBe(before);
  });

  // req: PRJ-003, QRY-007
  test('trace a requirement from its intent to its results', async () => {
    const harness = await openConfigured(open);
    await convergeEdges(harness, F, 'intent_requirements');
    const { methodology } = harness.coordinator;
    const both = unwrap(await methodology.trace(PROJECT_KEY, { req: F }));
    expect(both).toMatchObject({ requirement: F, features: [{ feature_id: F, intent: 'INT-001' }] });
    expect(both.features[0]?.chain[0]).toMatchObject({
      stage: 'requirements',
      status: 'converged',
      agent_id: 'ann',
    });
    expect(await methodology.trace(PROJECT_KEY, { req: F, direction: 'backward' })).toMatchObject({
      features: [{ intent: 'INT-001', chain: [] }],
    });
    expect(await methodology.trace(PROJECT_KEY, { req: F, direction: 'forward' })).toMatchObject({
      features: [{ intent: null }],
    });
    expect(unwrap(await methodology.trace(PROJECT_KEY, { req: 'REQ-F-NONE-001' })).gaps).toHaveLength(1);
  });

  // req: PRJ-002, PRJ-005, QRY-006, QRY-008
  test('show status, feature, health, Gantt chart and one edge, each with its position', async () => {
    const harness = await openConfigured(open);
    await convergeEdges(harness, F, 'intent_requirements');
    const { methodology } = harness.coordinator;
    const currentPosition = { position: await harness.position(), last_updated: expect.stringMatching(/Z$/) };
    expect(await methodology.status(PROJECT_KEY)).toMatchObject({
      ...currentPosition,
      project: { edges_completed: 1, active_features: 1 },
    });
    expect(await methodology.feature(PROJECT_KEY, { feature: F })).toMatchObject({
      ...currentPosition,
      current_edge: 'requirements_design',
    });
    expect(await methodology.feature(PROJECT_KEY, { feature: 'REQ-F-X-1' })).toMatchObject({
      problem: 'NOT_FOUND',
    });
    expect(await methodology.health(PROJECT_KEY)).toMatchObject({
      ...currentPosition,
      counts: { features: 1 },
    });
    expect(await methodology.gantt(PROJECT_KEY)).toMatchObject({
      ...currentPosition,
      gantt: expect.stringMatching(/^gantt\n/),
    });
    const query = { edge: 'design→code', feature: F };
    expect(await methodology.zoom(PROJECT_KEY, query)).toMatchObject({
      ...currentPosition,
      edge: { edge: 'design_code' },
    });
    expect(await methodology.zoom(PROJECT_KEY, {})).toMatchObject({
      ...currentPosition,
      edge: null,
      unknown_edge: null,
    });
  });

  test('show status, feature, health, Gantt chart, edges, trace and gaps at an earlier position', async () => {
    const harness = await openConfigured(open);
    await convergeEdges(harness, F, 'intent_requirements');
    const at = await harness.position();
    const readViews = async (query: { at?: number }) => {
      const { methodology } = harness.coordinator;
      return {
        status: unwrap(await methodology.status(PROJECT_KEY, query)),
        feature: unwrap(await methodology.feature(PROJECT_KEY, { feature: F, ...query })),
        health: unwrap(await methodology.health(PROJECT_KEY, query)),
        gantt: unwrap(await methodology.gantt(PROJECT_KEY, query)),
        zoom: unwrap(await methodology.zoom(PROJECT_KEY, { edge: 'design→code', ...query })),
        trace: unwrap(await methodology.trace(PROJECT_KEY, { req: F, ...query })),
        gaps: unwrap(await methodology.recordedGaps(PROJECT_KEY, query)),
      };
    };
    const earlierViews = await readViews({});
    await convergeEdges(harness, F, 'requirements_design');
    const currentViews = await readViews({});
    for (const [name, view] of Object.entries(await readViews({ at }))) {
      expect([name, view]).toEqual([name, earlierViews[name as keyof typeof earlierViews]]);
      expect([name, view]).not.toEqual([name, currentViews[name as keyof typeof currentViews]]);
    }
    const aheadReply = await harness.coordinator.methodology.status(PROJECT_KEY, {
      at: (await harness.position()) + 1,
    });
    expect(aheadReply).toMatchObject({ problem: 'CURSOR_AHEAD' });
  });

  // req: STL-002, STL-004
  test('show a claimed edge as held, and as stale when its holder is inactive', async () => {
    const harness = await openConfigured(open);
    const by = { agent_id: 'alpha', session_id: 's1' };
    await harness.coordinator.claims.claimTask(PROJECT_KEY, {
      feature_id: F,
      edge: 'intent_requirements',
      ...by,
    });
    const shownClaims = async () => unwrap(await harness.coordinator.methodology.status(PROJECT_KEY)).claims;
    expect(await shownClaims()).toMatchObject([
      { feature_id: F, agent_id: 'alpha', state: 'held', generation: 1 },
    ]);
    harness.advance(1801);
    expect(await shownClaims()).toMatchObject([{ state: 'stale' }]);
  });
});

describe('two coordinators over one store', () => {
  test('give concurrent spawns different numbers, and fold a child back once', async () => {
    const harness = await openConfigured((options) => CoordinatorHarness.open('memory', options));
    const second = await harness.openAnother();
    const coordinators = [harness.coordinator, second, harness.coordinator, second];
    const replies = await Promise.all(coordinators.map((each) => each.methodology.spawn(PROJECT_KEY, spike)));
    const ids = replies.map((reply) => unwrap(reply).feature_id);
    expect(new Set(ids).size).toBe(4);
    const child = { ...answer, feature_id: ids[0], question_answered: true };
    const folded = await Promise.all(
      coordinators.map((each) => each.methodology.foldBack(PROJECT_KEY, child)),
    );
    expect(folded.filter((reply) => unwrap(reply).success)).toHaveLength(1);
    await expectSound(harness);
  });
});
