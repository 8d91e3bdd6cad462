import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../engine/check-outcome.js';
import { findDependencyCycles } from '../definition/cycles.js';
import { DEFAULT_FILES } from '../definition/defaults.generated.js';
import type { Profile } from '../definition/methodology.js';
import { parseMethodology } from '../definition/read-methodology.js';
import { EventLogBuilder, START_MS } from '../testing/event-log-builder.js';
import {
  routeInputOf,
  type TestProject,
  testClaim,
  testFeature,
  testMethodology,
} from '../testing/project.js';
import { featureView } from '../views/feature-view.js';
import { ganttText } from '../views/gantt.js';
import { healthView } from '../views/health.js';
import { statusView } from '../views/status.js';
import { traceView } from '../views/trace.js';
import { zoomView } from '../views/zoom.js';

const NOTHING_SPENT = { features: {}, project: NO_COST };
const SPECIFICATION_EDGES = ['intent_requirements', 'requirements_design'];
const STANDARD_EDGES = [...SPECIFICATION_EDGES, 'design_code', 'code_unit_tests'];
const spikePayload = {
  parent: 'GAMMA',
  child: 'SPIKE-1',
  vector_type: 'spike',
  reason: 'a risk',
  time_box: '1 week',
};

/** One feature at its tests, one finished, one blocked by a spike, one not started. */
const project: TestProject = {
  features: [
    testFeature('ALPHA'),
    testFeature('BETA'),
    testFeature('GAMMA'),
    testFeature('DELTA', { intent: null }),
  ],
  events: new EventLogBuilder()
    .converge('ALPHA', ...SPECIFICATION_EDGES, 'design_code')
    .iterate('ALPHA', 'code↔unit_tests', 4, 2)
    .converge('BETA', ...STANDARD_EDGES)
    .converge('GAMMA', 'intent_requirements')
    .append('spawn_created', null, null, { ...spikePayload, triggered_at_edge: 'requirements→design' })
    .append('intent_raised', null, null, { intent_id: 'INT-9', trigger: 'slow', severity: 'high' }),
  claims: { 'ALPHA#code_unit_tests': testClaim('ada', 'stale') },
};

describe('a feature whose profile names an edge that the topology does not have', () => {
  const built = testMethodology();
  const standard = { ...built.profiles.standard, missing_edges: ['design_moon'] } as Profile;
  const input = routeInputOf({
    ...project,
    methodology: { ...built, profiles: { ...built.profiles, standard } },
  });

  it('is blocked when all its other edges have converged, and shows the missing edge', () => {
    expect(statusView(input).features.find(({ id }) => id === 'BETA')).toMatchObject({
      status: 'blocked',
      waits_for: 'its profile standard names edges that the topology does not have: design_moon',
    });
  });

  it('can still be worked on', () => {
    expect(statusView(input).features.find(({ id }) => id === 'DELTA')?.status).toBe('pending');
  });
});

describe('the status', () => {
  const status = statusView(routeInputOf(project));

  it('shows the position of each feature in its profile, with a co-evolution as one stage', () => {
    const lines = status.features.map(({ feature_id, you_are_here }) => [
      feature_id,
      you_are_here.map(({ stage, mark }) => `${stage} ${mark}`).join(' → '),
    ]);
    expect(lines).toEqual([
      [
        'ALPHA',
        'requirements ✓ → design ✓ → code ✓ → code↔unit_tests ● → test_cases ○ → uat_tests ○ → cicd ○',
      ],
      [
        'BETA',
        'requirements ✓ → design ✓ → code ✓ → code↔unit_tests ✓ → test_cases ○ → uat_tests ○ → cicd ○',
      ],
      [
        'GAMMA',
        'requirements ✓ → design ✗ → code ○ → code↔unit_tests ○ → test_cases ○ → uat_tests ○ → cicd ○',
      ],
      [
        'DELTA',
        'requirements ○ → design ○ → code ○ → code↔unit_tests ○ → test_cases ○ → uat_tests ○ → cicd ○',
      ],
      ['SPIKE-1', 'requirements ○ → design ○ → code ○'],
    ]);
  });

  it('shows the current edge of each feature and why it cannot continue', () => {
    expect(status.features.map(({ status }) => status)).toEqual([
      'in_progress',
      'converged',
      'blocked',
      'pending',
      'pending',
    ]);
    expect(status.features[0]).toMatchObject({
      current_edge: 'code_unit_tests',
      iteration: 2,
      delta: 2,
      edges_converged: 3,
      edges_total: 4,
      waits_for: null,
    });
    expect(status.features[1]).toMatchObject({ current_edge: null, edges_converged: 4 });
    expect(status.features[2]?.waits_for).toBe('requirements_design: it waits for SPIKE-1 to fold back');
  });

  it('summarises the project: edges, features by status, stages', () => {
    expect(status.project).toEqual({
      edges_completed: 8,
      edges_remaining: 11,
      edges_total: 19,
      percent: 42,
      active_features: 4,
      features_by_status: {
        pending: 2,
        in_progress: 1,
        stuck: 0,
        pending_review: 0,
        blocked: 1,
        converged: 1,
        time_box_expired: 0,
      },
    });
    expect(status.coverage[1]).toEqual({
      stage: 'design',
      edge: 'requirements_design',
      converged: 2,
      at_work: 0,
      pending: 2,
      blocked: 1,
    });
    // The edge is optional and no feature has started it.
    expect(status.coverage[4]).toMatchObject({ edge: 'design_test_cases', pending: 0 });
  });

  it('shows what start would do, the claims, and what waits for a person', () => {
    expect(status).toMatchObject({
      state: 'IN_PROGRESS',
      start_would: { feature: 'SPIKE-1', edge: 'intent_requirements', iteration: 1 },
      claims: [{ feature_id: 'ALPHA', edge: 'code_unit_tests', agent_id: 'ada', state: 'stale' }],
      signals: [{ id: 'INT-9' }],
      pending_reviews: [],
      health: { streams_lag_ms: 0, pending_reviews: 0, stale_claims: 1 },
    });
    expect(status.next_actions.map(({ command }) => command)).toEqual([
      'gen spawn --type feature --id REQ-F-NAME-001 --intent INT-9 --reason slow',
      'gen task force-release ALPHA#code_unit_tests --reason stale',
      'gen task claim SPIKE-1#intent_requirements',
    ]);
  });

  it('of an empty project names the first command', () => {
    expect(statusView(routeInputOf({ methodology: null }))).toMatchObject({
      state: 'UNINITIALISED',
      features: [],
      next_actions: [{ command: 'gen init' }],
    });
  });

  it('counts a pending review and shows the feature as waiting', () => {
    const log = new EventLogBuilder()
      .append('edge_started', 'F', 'intent_requirements')
      .append('claim_suspended', 'F', 'intent_requirements');
    const { features, health } = statusView(routeInputOf({ features: [testFeature('F')], events: log }));
    expect(features[0]).toMatchObject({
      status: 'pending_review',
      you_are_here: [{ mark: '●' }, {}, {}, {}, {}, {}, {}],
    });
    expect(health.pending_reviews).toBe(1);
  });
});

describe('the view of one feature', () => {
  it('has its trajectory, its parent and children, and its constraints', () => {
    const view = featureView(routeInputOf(project), 'GAMMA');
    expect(view).toMatchObject({
      feature_id: 'GAMMA',
      status: 'blocked',
      children: [{ feature: 'SPIKE-1', vector_type: 'spike', folded_back: null }],
      constraint_dimensions: [
        { name: 'security_model', mandatory: true, decided: true },
        { name: 'observability', mandatory: false, decided: false },
      ],
    });
    expect(view?.trajectory[1]).toMatchObject({ status: 'blocked', blocked_by: 'SPIKE-1', delta: null });
    expect(featureView(routeInputOf(project), 'ALPHA')?.trajectory[3]).toMatchObject({
      deltas: [4, 2],
      agent_id: 'primary',
    });
    expect(featureView(routeInputOf(project), 'SPIKE-1')).toMatchObject({
      parent: { feature: 'GAMMA', edge: 'requirements_design' },
      profile: 'spike',
      time_box: { status: 'active' },
    });
  });

  it('shows the status of its dependencies, and is null for an unknown feature', () => {
    const waitOn = (name: string) => ({ feature: name, asset: null });
    const features = [testFeature('F', { dependencies: [waitOn('G'), waitOn('NONE')] }), testFeature('G')];
    expect(featureView(routeInputOf({ features }), 'F')?.dependencies).toEqual([
      { feature: 'G', asset: null, status: 'pending' },
      { feature: 'NONE', asset: null, status: 'unknown' },
    ]);
    expect(featureView(routeInputOf({ features }), 'NONE')).toBeNull();
  });
});

describe('the trace of a requirement', () => {
  it('is the chain of its features with their log positions', () => {
    const trace = traceView(routeInputOf(project), 'ALPHA');
    expect(trace.features.map(({ feature_id }) => feature_id)).toEqual(['ALPHA']);
    expect(trace.features[0]?.chain.slice(2, 5)).toMatchObject([
      {
        edge: 'design_code',
        stage: 'code',
        status: 'converged',
        positions: { started: 5, last: 6, converged: 6 },
      },
      { edge: 'code_unit_tests', status: 'iterating', positions: { started: 7, last: 9, converged: null } },
      {
        edge: 'design_test_cases',
        status: 'pending',
        positions: { started: null, last: null, converged: null },
      },
    ]);
    expect(trace.gaps).toEqual([]);
  });

  it('lists every feature that delivers the requirement, and what is missing', () => {
    const features = [
      testFeature('A', { requirements: ['A', 'REQ-1'] }),
      testFeature('B', { requirements: ['REQ-1'], intent: null }),
    ];
    const log = new EventLogBuilder().converge('A', ...STANDARD_EDGES);
    log.append('iteration_completed', 'B', 'intent_requirements', { status: 'converged' });
    const trace = traceView(routeInputOf({ features, events: log }), 'REQ-1');
    expect(trace.features.map(({ feature_id }) => feature_id)).toEqual(['A', 'B']);
    expect(trace.gaps).toEqual([
      'B names no intent',
      'intent_requirements of B reports convergence without evidence',
      'B has no design yet',
      'B has no code yet',
      'B has no unit_tests yet',
    ]);
    expect(traceView(routeInputOf({ features, events: log }), 'REQ-2')).toMatchObject({
      features: [],
      gaps: ['no feature delivers REQ-2'],
    });
  });
});

describe('health', () => {
  const findingKinds = (testProject: TestProject): string[] =>
    healthView(routeInputOf(testProject), NOTHING_SPENT).findings.map(({ kind }) => kind);
  const expectFinding = (testProject: TestProject, kind: string, expectedText: string): void => {
    const { findings } = healthView(routeInputOf(testProject), NOTHING_SPENT);
    const texts = findings.filter((finding) => finding.kind === kind).map(({ says }) => says);
    expect(texts.join('\n')).toContain(expectedText);
  };
  const features = [testFeature('F')];

  it('is good without findings', () => {
    const health = healthView(
      routeInputOf({ features, events: new EventLogBuilder().converge('F', ...STANDARD_EDGES) }),
      NOTHING_SPENT,
    );
    expect(health).toMatchObject({ healthy: true, findings: [], counts: { features: 1, stuck: 0 } });
  });

  it('finds stuck edges and repeatedly failing checks', () => {
    const log = new EventLogBuilder();
    for (let iteration = 1; iteration <= 4; iteration += 1) {
      const evaluators = { details: [{ name: 'tests_pass', result: 'fail' }] };
      log.append('iteration_completed', 'F', 'intent_requirements', { iteration, delta: 1, evaluators });
    }
    expectFinding({ features, events: log }, 'stuck', 'intent_requirements of F is stuck');
    expectFinding({ features, events: log }, 'failing_check', 'tests_pass has failed 4 times in a row');
    expect(healthView(routeInputOf({ features, events: log }), NOTHING_SPENT).healthy).toBe(false);
  });

  it('finds spawns with an unknown parent, and finished children that are not folded back', () => {
    const orphanLog = new EventLogBuilder().append('spawn_created', null, null, {
      parent: 'GONE',
      child: 'S',
      vector_type: 'spike',
    });
    expectFinding({ features, events: orphanLog }, 'orphaned_spawn', 'S was spawned from GONE');
    const log = new EventLogBuilder().append('spawn_created', null, null, {
      parent: 'F',
      child: 'S',
      vector_type: 'spike',
    });
    log.converge('S', ...SPECIFICATION_EDGES, 'design_code');
    expectFinding({ features, events: log }, 'not_folded_back', 'S is finished and has not folded back to F');
    log.append('spawn_folded_back', null, null, { parent: 'F', child: 'S' });
    expect(findingKinds({ features, events: log })).toEqual(['missing_vector']);
  });

  it('finds features that are only in the log, and unknown event types', () => {
    const log = new EventLogBuilder().append('edge_started', 'PROP-7', 'design_code').append('moon_phase');
    expectFinding(
      { features, events: log },
      'missing_vector',
      'the log mentions PROP-7 (last at position 1)',
    );
    expectFinding({ features, events: log }, 'unknown_type', '1 event of the unknown type moon_phase');
    log.append('moon_phase');
    expectFinding({ features, events: log }, 'unknown_type', '2 events of the unknown type moon_phase');
  });

  it('finds convergence without evidence, and without a start', () => {
    const log = new EventLogBuilder()
      .append('iteration_completed', 'F', 'intent_requirements', { status: 'converged', delta: 0 })
      .append('edge_converged', 'F', 'requirements_design');
    expectFinding({ features, events: log }, 'unproven_convergence', 'intent_requirements of F');
    expectFinding({ features, events: log }, 'unstarted_convergence', 'requirements_design of F');
  });

  it('finds cyclic and unknown dependencies, and unknown profiles', () => {
    const waitOn = (name: string) => [{ feature: name, asset: null }];
    const cyclicFeatures = [
      testFeature('A', { dependencies: waitOn('B') }),
      testFeature('B', { dependencies: waitOn('A') }),
    ];
    expectFinding({ features: cyclicFeatures }, 'circular_dependency', 'A → B → A');
    expectFinding(
      { features: [testFeature('A', { dependencies: waitOn('Z') })] },
      'unknown_dependency',
      'A depends on Z',
    );
    expectFinding(
      { features: [testFeature('A', { profile: 'gone' })] },
      'unknown_profile',
      'using standard instead',
    );
  });

  // req: STL-004
  it('finds expiring time boxes, stale claims and expired leases', () => {
    const box = { duration_seconds: 4000, check_in_seconds: null, on_expiry: 'fold_back' as const };
    const featuresWithTimeBox = [
      testFeature('F', { time_box: { ...box, started: new Date(START_MS).toISOString() } }),
    ];
    expectFinding(
      { features: featuresWithTimeBox },
      'time_box_expiring',
      '10 % of the time box of F is left',
    );
    expectFinding(
      { features: featuresWithTimeBox, now_ms: START_MS + 4_000_000 },
      'time_box',
      'has expired: fold back the current result',
    );
    const log = new EventLogBuilder().append('edge_started', 'F', 'intent_requirements');
    const claimInState = (state: 'stale' | 'lease_expired') => ({
      'F#intent_requirements': testClaim('ada', state),
    });
    expectFinding({ features, events: log, claims: claimInState('stale') }, 'stale_claim', 'ada holds');
    expectFinding(
      { features, events: log, claims: claimInState('lease_expired') },
      'lease_expired',
      'any agent can claim it',
    );
  });

  it('finds undecided dimensions and invalid files', () => {
    const constraints = { ...testMethodology().constraints, constraint_dimensions: {} };
    expectFinding(
      { features, methodology: testMethodology({ constraints }) },
      'constraint',
      'security_model',
    );
    const fault = { file: 'features/active/F.yml', path: 'title', message: 'expected a string', line: 3 };
    expect(healthView(routeInputOf({ features }), NOTHING_SPENT, [fault]).findings).toMatchObject([
      { kind: 'configuration', says: 'features/active/F.yml:3: expected a string' },
    ]);
  });

  it('follows a chain of a hundred thousand dependencies, and finds each cycle once', () => {
    const chain = new Map(Array.from({ length: 100_000 }, (_, index) => [`${index}`, [`${index + 1}`]]));
    expect(findDependencyCycles(chain)).toEqual([]);
    expect(
      findDependencyCycles(
        new Map([
          ['A', ['B', 'A']],
          ['B', ['C']],
          ['C', ['A']],
        ]),
      ),
    ).toEqual([
      ['A', 'B', 'C', 'A'],
      ['A', 'A'],
    ]);
  });
});

describe('the schedule', () => {
  it('is a Mermaid chart with a section for each feature', () => {
    const log = new EventLogBuilder()
      .converge('F', 'intent_requirements')
      .append('edge_converged', 'F', 'requirements_design')
      .append('edge_started', 'F', 'design_code');
    expect(ganttText(routeInputOf({ features: [testFeature('F')], events: log })).split('\n')).toEqual([
      'gantt',
      '  title shop',
      '  dateFormat YYYY-MM-DDTHH:mm:ss',
      '  axisFormat %m-%d %H:%M',
      '  section F Feature F',
      '    ✓ intent → requirements :done, 2026-03-01T09:01:00, 2026-03-01T09:02:00',
      '    ✓ requirements → design :done, 2026-03-01T08:03:00, 2026-03-01T09:03:00',
      '    ● design → code :active, 2026-03-01T09:04:00, 2026-03-01T10:00:00',
      '    ○ code ↔ unit_tests :2026-03-01T10:00:00, 2026-03-01T11:00:00',
      '',
    ]);
  });

  it('is not broken by a hostile title or by an end before the start', () => {
    const title = 'x\n  click F call alert():done; %%{init}%% #lt;script> "q"\u001b[2J -->';
    const log = new EventLogBuilder()
      .append('edge_started', 'F', 'intent_requirements')
      .append('edge_converged', 'F', 'intent_requirements', {}, { timestamp: '2026-02-01T00:00:00.000Z' });
    const lines = ganttText(routeInputOf({ features: [testFeature('F', { title })], events: log })).split(
      '\n',
    );
    expect(lines[4]).toBe('  section F x click F call alert() done init lt script q 2J -');
    expect(lines[5]).toContain(':done, 2026-03-01T09:01:00, 2026-03-01T09:02:00');
    expect(lines).toHaveLength(10);
  });
});

describe('zoom', () => {
  it('shows the graph in four bands', () => {
    const { bands } = zoomView(routeInputOf(project), null);
    expect(bands.map(({ band, percent, converged, total }) => [band, percent, converged, total])).toEqual([
      ['Specification', 50, 5, 10],
      ['Construction', 33, 3, 9],
      ['Validation', 0, 0, 0],
      ['Operations', 0, 0, 0],
    ]);
    expect(bands[3]?.edges).toEqual([
      'code_cicd',
      'cicd_running_system',
      'running_system_telemetry',
      'telemetry_intent',
    ]);
  });

  it('shows an edge in any spelling, with its checks, its features, and a hint if it has many checks', () => {
    const read = parseMethodology(DEFAULT_FILES);
    if (!read.ok) throw new Error(JSON.stringify(read.faults));
    const { edge } = zoomView(
      routeInputOf({ ...project, methodology: read.methodology }),
      'Code ↔ Unit Tests',
    );
    expect(edge).toMatchObject({ edge: 'code_unit_tests', band: 'Construction', edge_type: 'co_evolution' });
    expect(edge?.sub_steps.length).toBeGreaterThan(5);
    expect(edge?.hint).toContain('checks on one edge');
    expect(edge?.features[0]).toEqual({ feature_id: 'ALPHA', status: 'iterating', iteration: 2, delta: 2 });
  });

  it('gives no hint for an edge with five checks', () => {
    const hintFor = (count: number) => {
      const checklist = Array.from({ length: count }, (_, index) => ({
        name: `check-${index}`,
        type: 'agent' as const,
        criterion: '',
        required: true,
        source: 'default',
      }));
      const limits = { max_iterations: null, stuck_threshold: null, human_required: false };
      const edges = {
        design_code: { edge: 'design_code', description: '', checklist, ...limits, extra: {} },
      };
      return zoomView(routeInputOf({ methodology: testMethodology({ edges }) }), 'design_code').edge?.hint;
    };
    expect([hintFor(5), hintFor(6)]).toEqual([null, expect.stringMatching(/^6 checks/)]);
  });

  it('reports an unknown edge', () => {
    expect(zoomView(routeInputOf(project), 'closure')).toMatchObject({ edge: null, unknown_edge: 'closure' });
    expect(zoomView(routeInputOf({ methodology: null }), 'tdd')).toEqual({
      bands: [],
      edge: null,
      unknown_edge: 'tdd',
    });
  });
});
