import { describeEvidencePolicy } from '../../engine/evidence-policy.js';
import type { Feature, Methodology, ModuleMap, Profile, Transition } from '../definition/methodology.js';
import { newFeature } from '../definition/new-feature.js';
import type { EdgeClaim, RouteInput } from '../progress/feature-state.js';
import { featureRows } from '../progress/rows.js';
import { EventLogBuilder, START_MS } from './event-log-builder.js';

const transition = (
  source: string,
  target: string,
  edge_type: Transition['edge_type'] = 'standard',
): Transition => ({
  edge: `${source}_${target}`,
  name: `${source} ${edge_type === 'standard' ? '→' : '↔'} ${target}`,
  source,
  target,
  edge_type,
  evaluators: ['deterministic'],
});

const TRANSITIONS: readonly Transition[] = [
  transition('intent', 'requirements'),
  transition('requirements', 'design'),
  transition('design', 'code'),
  transition('code', 'unit_tests', 'co_evolution'),
  transition('design', 'test_cases'),
  transition('design', 'uat_tests'),
  transition('code', 'cicd'),
  transition('cicd', 'running_system'),
  transition('running_system', 'telemetry'),
  transition('telemetry', 'intent'),
];

const profile = (
  name: string,
  include: readonly string[] | 'all',
  overrides: Partial<Profile> = {},
): Profile => ({
  name,
  description: '',
  include,
  skip: [],
  optional: [],
  evaluators: ['agent'],
  evaluators_by_edge: {},
  convergence_rule: 'all_required_checks_pass',
  human_required_on_all_edges: false,
  max_iterations: 5,
  stuck_threshold: 3,
  time_box: null,
  vector_types: 'any',
  ...overrides,
});

const STANDARD_EDGES = ['intent_requirements', 'requirements_design', 'design_code', 'code_unit_tests'];
const dimension = (name: string, mandatory: boolean) => ({ name, mandatory });

export function testMethodology(overrides: Partial<Methodology> = {}): Methodology {
  const names = new Set(TRANSITIONS.flatMap(({ source, target }) => [source, target]));
  return {
    mode: 'multi',
    default_profile: 'standard',
    topology: {
      asset_types: [...names].map((name) => ({ name, description: '', markov_criteria: [] })),
      transitions: TRANSITIONS,
      constraint_dimensions: [dimension('security_model', true), dimension('observability', false)],
    },
    edges: {},
    profiles: {
      standard: profile('standard', STANDARD_EDGES, {
        optional: ['design_test_cases', 'design_uat_tests', 'code_cicd'],
      }),
      full: profile('full', 'all', { max_iterations: 7 }),
      hotfix: profile('hotfix', ['intent_requirements', 'design_code', 'code_unit_tests'], {
        stuck_threshold: 1,
        skip: ['requirements_design'],
      }),
      spike: profile('spike', STANDARD_EDGES.slice(0, 3), { stuck_threshold: 5, skip: ['code_unit_tests'] }),
    },
    roles: { roles: {}, outside_authority_action: 'escalate', spec_mutation_requires_human: true },
    parallelism: { enforce: false },
    modules: null,
    constraints: {
      project_name: 'shop',
      language: null,
      tools: {},
      thresholds: {},
      standards: {},
      architecture: {},
      constraint_dimensions: { security_model: 'oauth' },
    },
    has_intent: true,
    ...overrides,
  };
}

export const testFeature = (feature_id: string, overrides: Partial<Feature> = {}): Feature =>
  newFeature({
    feature_id,
    title: `Feature ${feature_id}`,
    intent: 'INT-1',
    profile: 'standard',
    requirements: [feature_id],
    ...overrides,
  });

export const testClaim = (agent_id: string, state: EdgeClaim['state'] = 'held'): EdgeClaim => ({
  agent_id,
  agent_role: null,
  generation: 1,
  state,
  since: '2026-03-01T09:00:00.000Z',
});

export interface TestProject {
  readonly events?: EventLogBuilder;
  readonly features?: readonly Feature[];
  /** By subject. */
  readonly claims?: Readonly<Record<string, EdgeClaim>>;
  readonly request?: RouteInput['request'];
  readonly methodology?: Methodology | null;
  readonly modules?: ModuleMap;
  readonly enforce?: boolean;
  readonly now_ms?: number;
}

/** Builds a route input from the parts that matter to a test. */
export function routeInputOf(project: TestProject): RouteInput {
  const state = (project.events ?? new EventLogBuilder()).fold();
  const { modules = null, enforce = false, claims = {} } = project;
  const defaultMethodology = testMethodology({ modules, parallelism: { enforce } });
  return {
    methodology: project.methodology === undefined ? defaultMethodology : project.methodology,
    rows: featureRows(project.features ?? [], state, (subject) => claims[subject] ?? null),
    state,
    now_ms: project.now_ms ?? START_MS + 3_600_000,
    evidence: describeEvidencePolicy('reported', {}),
    request: project.request ?? {},
  };
}
