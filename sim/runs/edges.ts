import type { EdgePlan } from '../../src/core/engine/edge-plan.js';
import { buildCheck, buildEdgePlan } from '../../src/core/engine/testing.js';
import { edgeSubject } from '../../src/core/methodology/definition/edge-name.js';

export const MAX_ITERATIONS = 4;

interface SimEdge {
  readonly edge: string;
  readonly hasHuman: boolean;
}

const FEATURES = ['REQ-F-A', 'REQ-F-B'];
const EDGES: readonly SimEdge[] = [
  { edge: 'design_code', hasHuman: false },
  { edge: 'code_unit_tests', hasHuman: true },
];

/** The settings of an edge that determine its runs. */
export interface EdgeUnderTest {
  readonly feature_id: string;
  readonly edge: string;
  readonly subject: string;
  readonly plan: EdgePlan;
}

export const EDGES_UNDER_TEST: readonly EdgeUnderTest[] = FEATURES.flatMap((feature_id) =>
  EDGES.map(({ edge, hasHuman }) => ({
    feature_id,
    edge,
    subject: edgeSubject(feature_id, edge),
    plan: buildEdgePlan({
      feature_id,
      edge,
      max_iterations: MAX_ITERATIONS,
      checks: [
        buildCheck('tests_pass'),
        buildCheck('lint_passes'),
        buildCheck('reads_well', 'agent'),
        ...(hasHuman ? [buildCheck('human_approval', 'human')] : []),
      ],
      budget: { run: { tokens: 900 } },
    }),
  })),
);

const edgeFile = ({ edge, hasHuman }: SimEdge): string => `
edge: "${edge === 'design_code' ? 'design→code' : 'code↔unit_tests'}"
checklist:
  - { name: tests_pass, type: deterministic, criterion: tests pass, required: true, command: make }
  - { name: lint_passes, type: deterministic, criterion: lint passes, required: true, command: make lint }
  - { name: reads_well, type: agent, criterion: it reads well, required: true }
convergence: { max_iterations: ${MAX_ITERATIONS}, human_required: ${hasHuman} }
`;

const featureFile = (featureId: string): string =>
  `feature: ${featureId}\ntitle: a feature\nprofile: standard\nstatus: pending\ntrajectory: {}\n`;

/** The configuration of a project with these edges. */
export const EDGE_FILES: Readonly<Record<string, string>> = Object.fromEntries([
  ...EDGES.map((edge) => [`graph/edges/${edge.edge}.yml`, edgeFile(edge)]),
  ...FEATURES.map((featureId) => [`features/active/${featureId}.yml`, featureFile(featureId)]),
]);
