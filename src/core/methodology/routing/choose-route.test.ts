import { describe, expect, it } from 'vitest';
import type { ModuleMap } from '../definition/methodology.js';
import { EventLogBuilder, START_MS } from '../testing/event-log-builder.js';
import {
  routeInputOf,
  type TestProject,
  testClaim,
  testFeature,
  testMethodology,
} from '../testing/project.js';
import { chooseRoute } from './choose-route.js';

const routeOf = (project: TestProject) => chooseRoute(routeInputOf(project));
const SPECIFICATION_EDGES = ['intent_requirements', 'requirements_design'];
const STANDARD_EDGES = [...SPECIFICATION_EDGES, 'design_code', 'code_unit_tests'];
const spawn = (child: string, parent: string, edge: string, fields = {}) => ({
  parent,
  child,
  vector_type: 'spike',
  profile: 'spike',
  reason: 'a risk',
  triggered_at_edge: edge,
  ...fields,
});
const reasonsText = (project: TestProject): string => routeOf(project).reasons.join('\n');

describe('the state of a workspace', () => {
  const undecided = testMethodology({
    constraints: {
      ...testMethodology().constraints,
      constraint_dimensions: { security_model: { flow: '  ' } },
    },
  });

  it('is UNINITIALISED without a methodology', () => {
    expect(routeOf({ methodology: null })).toMatchObject({
      state: 'UNINITIALISED',
      feature: null,
      next: 'gen init',
    });
  });

  it('is NEEDS_CONSTRAINTS once a feature reaches design with a mandatory dimension undecided', () => {
    const features = [testFeature('F')];
    const justStartedLog = new EventLogBuilder().append('edge_started', 'F', 'intent_requirements');
    expect(routeOf({ methodology: undecided, features, events: justStartedLog }).state).toBe('IN_PROGRESS');
    const log = new EventLogBuilder().converge('F', 'intent_requirements');
    const route = routeOf({ methodology: { ...undecided, has_intent: false }, features, events: log });
    expect(route).toMatchObject({ state: 'NEEDS_CONSTRAINTS', feature: null });
    expect(route.reasons.join()).toContain('security_model');
    expect(routeOf({ features, events: log }).state).toBe('IN_PROGRESS');
    const hotfix = [testFeature('F', { profile: 'hotfix' })];
    expect(routeOf({ methodology: undecided, features: hotfix, events: log }).state).toBe(
      'NEEDS_CONSTRAINTS',
    );
  });

  it('is NEEDS_CONSTRAINTS if an edge at or after design has converged, not if it is only claimed', () => {
    const features = [testFeature('F'), testFeature('G')];
    const startedLog = new EventLogBuilder().append('edge_started', 'F', 'code_unit_tests');
    expect(routeOf({ methodology: undecided, features, events: startedLog })).toMatchObject({
      state: 'IN_PROGRESS',
      edge: 'intent_requirements',
    });
    const convergedLog = new EventLogBuilder().converge('F', 'requirements_design');
    expect(routeOf({ methodology: undecided, features, events: convergedLog }).state).toBe(
      'NEEDS_CONSTRAINTS',
    );
  });

  it('is NEEDS_INTENT without an intent, and NO_FEATURES without a feature', () => {
    const methodologyWithoutIntent = testMethodology({ has_intent: false });
    expect(routeOf({ methodology: methodologyWithoutIntent }).state).toBe('NEEDS_INTENT');
    expect(routeOf({}).state).toBe('NO_FEATURES');
  });

  it('is STUCK in preference to ALL_BLOCKED', () => {
    const log = new EventLogBuilder()
      .converge('X', ...SPECIFICATION_EDGES)
      .iterate('X', 'design_code', 3, 3, 3)
      .converge('Y', 'intent_requirements')
      .append('edge_started', 'Y', 'requirements_design')
      .append('spawn_created', null, null, spawn('SPIKE-1', 'Y', 'requirements_design'))
      .append('edge_started', 'Z', 'intent_requirements')
      .append('claim_suspended', 'Z', 'intent_requirements')
      .append('claim_suspended', 'SPIKE-1', 'intent_requirements');
    const features = [testFeature('X'), testFeature('Y'), testFeature('Z')];
    const stuck = routeOf({ features, events: log });
    expect(stuck).toMatchObject({ state: 'STUCK', feature: null });
    expect(stuck.escalations[0]).toMatchObject({ kind: 'stuck', severity: 'critical', feature_id: 'X' });
    expect(stuck.next).toContain('--type discovery');
    expect(routeOf({ features: features.slice(1), events: log }).state).toBe('ALL_BLOCKED');
  });

  it('is ALL_CONVERGED when every feature has converged, including started optional edges', () => {
    const features = [testFeature('F')];
    const log = new EventLogBuilder().converge('F', ...STANDARD_EDGES);
    expect(routeOf({ features, events: log })).toMatchObject({
      state: 'ALL_CONVERGED',
      feature: null,
      next: 'gen gaps',
    });
    log.append('edge_started', 'F', 'design_uat_tests');
    expect(routeOf({ features, events: log })).toMatchObject({
      state: 'IN_PROGRESS',
      edge: 'design_uat_tests',
    });
  });

  it('is not ALL_CONVERGED by iterations that report convergence without an edge_converged', () => {
    const log = new EventLogBuilder();
    for (const edge of STANDARD_EDGES)
      log.append('iteration_completed', 'F', edge, { status: 'converged', delta: 0 });
    expect(routeOf({ features: [testFeature('F')], events: log })).toMatchObject({
      state: 'IN_PROGRESS',
      edge: 'intent_requirements',
    });
  });
});

describe('a stuck edge', () => {
  const projectWithDeltas = (...deltas: number[]) => ({
    features: [testFeature('F')],
    events: new EventLogBuilder()
      .converge('F', ...SPECIFICATION_EDGES)
      .iterate('F', 'design_code', ...deltas),
  });

  // req: ITR-013
  it('has the same delta in as many iterations in a row as the threshold', () => {
    expect(routeOf(projectWithDeltas(5, 3, 3, 3)).state).toBe('STUCK');
    expect(routeOf(projectWithDeltas(3, 3, 2)).state).toBe('IN_PROGRESS');
    expect(routeOf(projectWithDeltas(3, 3)).state).toBe('IN_PROGRESS');
    expect(routeOf(projectWithDeltas(3, -1, 3, 3)).state).toBe('IN_PROGRESS');
  });

  it('is stuck while its escalated run waits for a person, until it is put on hold', () => {
    const input = projectWithDeltas(3, 3, 3);
    input.events.append('claim_suspended', 'F', 'design_code');
    expect(routeOf(input).state).not.toBe('STUCK');
    input.events.append('run_ended', 'F', 'design_code', { status: 'ESCALATED', says: 'stuck' });
    expect(routeOf(input).state).toBe('STUCK');
    expect(routeOf(input).escalations.map(({ kind }) => kind)).toEqual(['stuck', 'review']);
    input.events.append('edge_held', 'F', 'design_code', { reason: 'think first' });
    expect(routeOf(input).state).not.toBe('STUCK');
  });

  it('is not an edge with three zero deltas in a row', () => {
    expect(routeOf(projectWithDeltas(0, 0, 0)).state).toBe('IN_PROGRESS');
  });

  it('is determined by the threshold of its edge, or else of its profile', () => {
    const log = new EventLogBuilder().converge('F', 'intent_requirements').iterate('F', 'design_code', 2);
    expect(routeOf({ features: [testFeature('F', { profile: 'hotfix' })], events: log }).state).toBe('STUCK');
    const edgeConfig = {
      edge: 'design_code',
      description: '',
      checklist: [],
      max_iterations: null,
      human_required: false,
    };
    const edges = { design_code: { ...edgeConfig, stuck_threshold: 4, extra: {} } };
    expect(routeOf({ ...projectWithDeltas(3, 3, 3), methodology: testMethodology({ edges }) }).state).toBe(
      'IN_PROGRESS',
    );
  });

  it('does not block other features, and is retried if the request names its feature', () => {
    const project = { ...projectWithDeltas(3, 3, 3), features: [testFeature('F'), testFeature('G')] };
    expect(routeOf(project)).toMatchObject({ state: 'STUCK', feature: 'G', edge: 'intent_requirements' });
    expect(routeOf(project).skipped).toMatchObject([{ feature: 'F', edge: 'design_code' }, { feature: 'F' }]);
    expect(routeOf({ ...project, request: { feature: 'F' } })).toMatchObject({
      feature: 'F',
      iteration: 4,
      refused: null,
    });
  });

  it('is no longer stuck once it is started again', () => {
    const { features, events } = projectWithDeltas(3, 3, 3);
    expect(routeOf({ features, events: events.append('edge_started', 'F', 'design_code') }).state).toBe(
      'IN_PROGRESS',
    );
  });
});

describe('the choice among several features', () => {
  it('1: prefers a feature with less than a quarter of its time box left, and among several the one with the least', () => {
    const timeBoxOf = (duration_seconds: number) => ({
      duration_seconds,
      check_in_seconds: null,
      on_expiry: 'fold_back' as const,
      started: new Date(START_MS).toISOString(),
    });
    const features = [
      testFeature('CALM', { time_box: timeBoxOf(36_000) }),
      testFeature('SOON', { time_box: timeBoxOf(4000) }),
      testFeature('SOONER', { time_box: timeBoxOf(3700) }),
      testFeature('OVER', { time_box: timeBoxOf(3600) }),
    ];
    const log = new EventLogBuilder().converge('CALM', ...SPECIFICATION_EDGES);
    const route = routeOf({ features, events: log });
    expect(route.feature).toBe('SOONER');
    expect(route.reasons.join()).toContain('3 % of its time box is left');
    expect(route.skipped).toMatchObject([{ feature: 'OVER', says: 'its time box has expired' }]);
    expect(route.escalations).toMatchObject([{ kind: 'time_box', feature_id: 'OVER' }]);
  });

  it('1: ignores a time box with a quarter or more left', () => {
    const time_box = {
      duration_seconds: 4800,
      check_in_seconds: null,
      on_expiry: 'fold_back' as const,
      started: new Date(START_MS).toISOString(),
    };
    const log = new EventLogBuilder().converge('NEAR', ...SPECIFICATION_EDGES);
    expect(
      routeOf({ features: [testFeature('BOXED', { time_box }), testFeature('NEAR')], events: log }).feature,
    ).toBe('NEAR');
  });

  // req: RTE-009
  it('2: prefers the fewest open edges, including those that are not in the log', () => {
    const log = new EventLogBuilder().converge('NEAR', ...SPECIFICATION_EDGES);
    const features = [testFeature('EMPTY', { priority: 'critical' }), testFeature('NEAR')];
    expect(routeOf({ features, events: log })).toMatchObject({ feature: 'NEAR', edge: 'design_code' });
    expect(reasonsText({ features, events: log })).toContain(
      'NEAR goes before EMPTY: it has the fewest open edges: 2',
    );
  });

  it('3: prefers the higher priority', () => {
    const features = [
      testFeature('A', { priority: 'low' }),
      testFeature('B', { priority: 'high' }),
      testFeature('C'),
    ];
    expect(reasonsText({ features })).toContain('B goes before C: its priority is high');
  });

  it('4: prefers the feature worked on most recently; an expiry is not work', () => {
    const log = new EventLogBuilder()
      .append('edge_started', 'A', 'intent_requirements')
      .append('edge_started', 'B', 'intent_requirements')
      .append('claim_expired', 'A', 'intent_requirements');
    const features = [testFeature('A'), testFeature('B')];
    expect(routeOf({ features, events: log }).feature).toBe('B');
    expect(reasonsText({ features, events: log })).toContain('it was worked on most recently');
  });

  it('falls back to the name if all else is equal', () => {
    expect(reasonsText({ features: [testFeature('B'), testFeature('A')] })).toContain(
      'A comes first by name',
    );
  });
});

describe('the edge of a feature', () => {
  it('is the first of its profile that has not converged, under its canonical name', () => {
    const log = new EventLogBuilder().converge('F', 'Intent → Requirements', 'requirements->design');
    expect(routeOf({ features: [testFeature('F')], events: log })).toMatchObject({
      feature: 'F',
      edge: 'design_code',
      iteration: 1,
      next: 'gen task claim F#design_code',
    });
  });

  it('depends on the last edge of its profile before the skipped ones', () => {
    const features = [testFeature('F', { profile: 'hotfix' })];
    expect(routeOf({ features }).edge).toBe('intent_requirements');
    expect(
      routeOf({ features, events: new EventLogBuilder().converge('F', 'intent_requirements') }).edge,
    ).toBe('design_code');
  });

  it('is one edge for both directions of a co-evolution, in either arrow notation', () => {
    const log = new EventLogBuilder()
      .converge('F', ...SPECIFICATION_EDGES, 'design_code')
      .append('edge_started', 'F', 'code↔unit_tests');
    expect(routeOf({ features: [testFeature('F')], events: log }).edge).toBe('code_unit_tests');
    log.append('edge_converged', 'F', 'code→unit_tests');
    expect(routeOf({ features: [testFeature('F')], events: log }).state).toBe('ALL_CONVERGED');
  });

  it('is an optional edge only if that edge was started or requested', () => {
    const log = new EventLogBuilder().converge('F', ...SPECIFICATION_EDGES);
    const features = [testFeature('F')];
    expect(routeOf({ features, events: log }).edge).toBe('design_code');
    expect(reasonsText({ features, events: log })).toContain('optional and not started: design_test_cases');
    expect(routeOf({ features, events: log, request: { edge: 'design→test_cases' } }).edge).toBe(
      'design_test_cases',
    );
  });

  it('is skipped until its spawn folds back, together with the edges that depend on it', () => {
    const log = new EventLogBuilder()
      .converge('F', 'intent_requirements')
      .append('spawn_created', null, null, spawn('SPIKE-1', 'F', 'requirements_design'));
    const route = routeOf({ features: [testFeature('F')], events: log });
    expect(route).toMatchObject({ state: 'IN_PROGRESS', feature: 'SPIKE-1', edge: 'intent_requirements' });
    expect(route.skipped[0]).toEqual({
      feature: 'F',
      edge: 'requirements_design',
      says: 'it waits for SPIKE-1 to fold back',
    });
    log.append('spawn_folded_back', null, null, {
      parent: 'F',
      child: 'SPIKE-1',
      fold_back_status: 'converged',
    });
    expect(routeOf({ features: [testFeature('F')], events: log })).toMatchObject({
      feature: 'F',
      edge: 'requirements_design',
    });
  });

  it('waits for all edges of a dependency, not only for one edge', () => {
    const features = [testFeature('B', { dependencies: [{ feature: 'A', asset: null }] }), testFeature('A')];
    const log = new EventLogBuilder().converge('A', 'intent_requirements');
    expect(routeOf({ features, events: log }).skipped[0]).toMatchObject({ feature: 'B', edge: null });
    expect(routeOf({ features, events: log, request: { feature: 'B' } }).refused).toContain(
      'requirements_design has not converged',
    );
    expect(routeOf({ features, events: log.converge('A', ...STANDARD_EDGES.slice(1)) }).feature).toBe('B');
  });

  it('waits for a dependency only up to the required asset', () => {
    const features = [
      testFeature('B', { dependencies: [{ feature: 'A', asset: 'design' }] }),
      testFeature('A'),
    ];
    const log = new EventLogBuilder().converge('A', 'intent_requirements');
    expect(routeOf({ features, events: log, request: { feature: 'B' } }).refused).toContain(
      'the design of A',
    );
    log.converge('A', 'requirements_design');
    expect(routeOf({ features, events: log, request: { feature: 'B' } }).refused).toBeNull();
  });

  // req: RTE-010, RTE-012
  it('is not an edge that another agent holds, and the holder is named', () => {
    const log = new EventLogBuilder().append(
      'edge_started',
      'A',
      'intent_requirements',
      {},
      { agent_id: 'ada' },
    );
    const project = {
      features: [testFeature('A'), testFeature('B')],
      events: log,
      claims: { 'A#intent_requirements': testClaim('ada') },
    };
    const route = routeOf({ ...project, request: { agent_id: 'bob' } });
    expect(route.feature).toBe('B');
    expect(route.skipped).toEqual([
      { feature: 'A', edge: 'intent_requirements', says: 'ada has held it since 2026-03-01T09:00:00.000Z' },
    ]);
    expect(routeOf({ ...project, request: { agent_id: 'ada' } }).feature).toBe('A');
    expect(routeOf({ ...project, request: { agent_id: 'bob', feature: 'A' } }).refused).toContain(
      'ada has held it',
    );
  });

  it.each([
    ['stale', 'B', 'is inactive'],
    ['awaiting_human', 'B', 'waits for a person'],
    ['lease_expired', 'A', ''],
  ] as const)('whose claim is %s routes to feature %s', (state, expected, says) => {
    const log = new EventLogBuilder().append('edge_started', 'A', 'intent_requirements');
    const claims = { 'A#intent_requirements': testClaim('ada', state) };
    const route = routeOf({
      features: [testFeature('A'), testFeature('B')],
      events: log,
      claims,
      request: { agent_id: 'bob' },
    });
    expect(route.feature).toBe(expected);
    expect(route.skipped.map((skipped) => skipped.says).join()).toContain(says);
  });
});

describe('an explicit request', () => {
  const features = [testFeature('F'), testFeature('G')];
  const log = new EventLogBuilder().converge('F', 'intent_requirements');

  it('is followed if it names a feature, an edge in any spelling, or a profile', () => {
    expect(routeOf({ features, events: log, request: { feature: 'G' } })).toMatchObject({ feature: 'G' });
    expect(routeOf({ features, events: log, request: { edge: 'Intent → Requirements' } })).toMatchObject({
      feature: 'G',
      edge: 'intent_requirements',
    });
    expect(routeOf({ features, events: log, request: { feature: 'F', profile: 'hotfix' } }).edge).toBe(
      'design_code',
    );
  });

  it.each([
    [{ feature: 'NONE' }, 'unknown feature NONE; known features: F, G'],
    [{ edge: 'closure' }, 'unknown edge closure'],
    [{ profile: 'baroque' }, 'unknown profile baroque; known profiles: standard, full, hotfix, spike'],
    [{ profile: 'constructor' }, 'unknown profile constructor'],
    [{ feature: 'F', edge: 'intent_requirements' }, 'it has converged'],
    [{ feature: 'F', edge: 'code_unit_tests' }, 'design_code of F has not converged yet'],
    [
      { feature: 'F', profile: 'spike', edge: 'code_unit_tests' },
      'the profile spike of F does not include code_unit_tests',
    ],
    [{ feature: 'F', edge: 'telemetry_intent' }, 'does not include telemetry_intent'],
  ])('is refused with a message: %j', (request, says) => {
    const route = routeOf({ features, events: log, request });
    expect(route).toMatchObject({ feature: null, edge: null });
    expect(route.refused).toContain(says);
    expect(route.next).not.toBe('');
  });

  it('is refused if the feature has converged', () => {
    const completedLog = new EventLogBuilder().converge('F', ...STANDARD_EDGES);
    expect(routeOf({ features, events: completedLog, request: { feature: 'F' } }).refused).toContain(
      'F is complete',
    );
  });
});

describe('work on shared modules', () => {
  const modules: ModuleMap = {
    feature_module_map: { A: ['auth'], B: ['auth', 'web'], C: ['charts'] },
    dependency_dag: { auth: ['users'] },
  };
  const log = new EventLogBuilder().append(
    'edge_started',
    'A',
    'intent_requirements',
    {},
    { agent_id: 'ada' },
  );
  const claims = { 'A#intent_requirements': testClaim('ada') };
  const features = [
    testFeature('A'),
    testFeature('B', { priority: 'high' }),
    testFeature('C'),
    testFeature('U'),
  ];
  const project = { features, events: log, claims, modules, request: { agent_id: 'bob' } };

  // req: RTE-007, RTE-008
  it('warns when another agent works on a shared module, and names the modules and the order to build in', () => {
    const route = routeOf(project);
    expect(route).toMatchObject({ feature: 'B', refused: null });
    expect(route.parallel).toEqual([
      {
        feature_id: 'A',
        edge: 'intent_requirements',
        agent_id: 'ada',
        inner_product: 2,
        shared_modules: ['auth', 'users'],
        says: 'B and A (ada on intent_requirements) both touch auth, users: build users, auth first, then A, then B',
      },
    ]);
    expect(route.reasons).toContain(route.parallel[0]?.says);
  });

  // req: RTE-006
  it('gives no warning if nothing is shared', () => {
    const route = routeOf({ ...project, request: { agent_id: 'bob', feature: 'C' } });
    expect(route.parallel).toEqual([]);
    expect(route.reasons.join()).toContain('shares no module');
  });

  it('is reported as unknown if the module map lacks a feature', () => {
    const route = routeOf({ ...project, request: { agent_id: 'bob', feature: 'U' } });
    expect(route.parallel).toMatchObject([{ inner_product: null, shared_modules: [] }]);
    expect(route.reasons.join()).toContain('unknown whether U shares modules with A');
  });

  it('gives no warning for the agent’s own claim', () => {
    expect(routeOf({ ...project, request: { agent_id: 'ada', feature: 'B' } }).parallel).toEqual([]);
  });

  it('is refused if parallelism is enforced, and another feature is offered', () => {
    const offered = routeOf({ ...project, enforce: true });
    expect(offered).toMatchObject({ feature: 'C', refused: null });
    expect(offered.skipped).toContainEqual({
      feature: 'B',
      edge: null,
      says: expect.stringContaining('auth, users'),
    });
    const refused = routeOf({ ...project, enforce: true, request: { agent_id: 'bob', feature: 'B' } });
    expect(refused).toMatchObject({ feature: null, parallel: [{ inner_product: 2 }] });
    expect(refused.refused).toMatch(/^other agents hold claims on the same modules, .*: B and A/);
  });
});

it('names who pushed a review that asks for changes', () => {
  const review = { decision: 'CHANGES_REQUESTED', reviewer: 'rita', comment: 'say who' };
  const reasonsFor = (payload: object) =>
    routeOf({
      features: [testFeature('F')],
      events: new EventLogBuilder()
        .append('edge_started', 'F', 'intent_requirements')
        .append('review_completed', 'F', 'intent_requirements', { ...payload }),
    }).reasons;
  expect(reasonsFor(review)).toContain('rita requested changes: say who');
  expect(reasonsFor({ ...review, pushed_by: 'key-olaf' })).toContain(
    'rita (according to key-olaf, who pushed it) requested changes: say who',
  );
});

describe('an escalation', () => {
  it('is the first reason, ordered by severity', () => {
    const log = new EventLogBuilder()
      .append('intent_raised', null, null, { intent_id: 'INT-7', trigger: 'slow', severity: 'low' })
      .append('edge_started', 'F', 'intent_requirements')
      .append('convergence_escalated', 'F', 'intent_requirements', { reason: 'outside_role_authority' });
    const route = routeOf({ features: [testFeature('F'), testFeature('G')], events: log });
    expect(route.escalations.map(({ kind }) => kind)).toEqual(['escalation', 'intent']);
    expect(route.escalations[0]?.next).toBe('gen review --feature F --edge intent_requirements');
    expect(route.reasons[0]).toMatch(/^2 escalations wait for a person; the first: primary cannot converge/);
    expect(route.feature).toBe('G');
  });

  it('is listed once, whether it is in the log, in a claim or in both', () => {
    const log = new EventLogBuilder()
      .append('edge_started', 'F', 'intent_requirements')
      .append('claim_expired', 'F', 'intent_requirements', { disposition: 'held' });
    const claims = { 'F#intent_requirements': testClaim('ada', 'stale') };
    const route = routeOf({ features: [testFeature('F')], events: log, claims });
    expect(route.escalations.map(({ kind }) => kind)).toEqual(['stale_claim']);
    expect(route.escalations[0]?.next).toContain('gen task force-release F#intent_requirements');
  });

  it('is raised for an edge on hold, and lifting the hold comes before new work', () => {
    const log = new EventLogBuilder()
      .append('intent_raised', null, null, { intent_id: 'INT-9', trigger: 'slow', severity: 'high' })
      .append('edge_started', 'F', 'intent_requirements')
      .append('edge_held', 'F', 'intent_requirements', { reason: 'not what we meant' });
    const route = routeOf({ features: [testFeature('F')], events: log });
    expect(route.escalations).toMatchObject([
      {
        kind: 'hold',
        severity: 'high',
        feature_id: 'F',
        edge: 'intent_requirements',
        says: 'intent_requirements of F is on hold: not what we meant',
      },
      { kind: 'intent' },
    ]);
    expect([route.state, route.next]).toEqual([
      'ALL_BLOCKED',
      'gen task unhold F#intent_requirements --reason settled',
    ]);
    log.append('edge_unheld', 'F', 'intent_requirements');
    expect(routeOf({ features: [testFeature('F')], events: log }).escalations).toMatchObject([
      { kind: 'intent' },
    ]);
  });

  // req: ITR-014
  it('is raised for an edge that has used all its iterations', () => {
    const log = new EventLogBuilder().iterate('F', 'intent_requirements', 9, 8, 7, 6, 5);
    expect(routeOf({ features: [testFeature('F')], events: log }).escalations).toMatchObject([
      { kind: 'max_iterations' },
    ]);
  });

  it('quotes hostile names in the suggested command', () => {
    const log = new EventLogBuilder()
      .append('edge_started', "F'; rm -rf ~; '", 'x')
      .append('convergence_escalated', "F'; rm -rf ~; '", 'x y\u001b[2J');
    const next = routeOf({ features: [testFeature('G')], events: log }).escalations[0]?.next ?? '';
    expect(next).toBe(`gen review --feature 'F'\\''; rm -rf ~; '\\''' --edge 'x_y�[2j'`);
  });
});
