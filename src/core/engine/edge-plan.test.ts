import { describe, expect, it } from 'vitest';
import { buildFeature, methodologyOf } from '../methodology/testing.js';
import { edgePlan, nonConvergingPlanFault } from './edge-plan.js';
import { SPECIFICATION_EDGE_FILE } from './testing.js';

const EDGE_PATH = 'graph/edges/design_code.yml';
const edgeFile = (...lines: string[]): string => ['edge: design→code', ...lines, ''].join('\n');
const planOf = (files: Record<string, string> = {}, overrides: Parameters<typeof buildFeature>[0] = {}) =>
  edgePlan(methodologyOf(files), buildFeature(overrides), 'design→code');

describe('the plan of an edge', () => {
  it('has the ends of the edge, its guidance, and the names of its context', () => {
    const plan = planOf({
      [EDGE_PATH]: edgeFile(
        'description: From design to code',
        'agent_guidance: |',
        '  Follow the design.',
        'context_guidance:',
        '  required: [adrs, data_models, adrs, 5, " "]',
        '  recommended: [templates]',
        '  notes: none',
      ),
    });
    expect(plan).toMatchObject({
      feature_id: 'REQ-F-SHOP-001',
      edge: 'design_code',
      source: 'design',
      target: 'code',
      description: 'From design to code',
      guidance: 'From design to code\n\nFollow the design.',
      context: { required: ['adrs', 'data_models'], recommended: ['templates'] },
    });
  });

  it('equals the example in the specification', () => {
    const methodology = methodologyOf({
      'config/edge_params/requirements_design.yml': SPECIFICATION_EDGE_FILE,
    });
    const plan = edgePlan(methodology, buildFeature({ profile: 'full' }), 'requirements_design');
    expect(plan).toMatchObject({ max_iterations: 5, stuck_threshold: 3, guidance: '', construct: null });
    expect(plan.checks.map(({ type }) => type)).toEqual(['deterministic', 'agent', 'agent', 'human']);
  });

  it.each([
    ['the edge file', 'convergence: { max_iterations: 2, stuck_threshold: 1 }', 'hotfix', 2, 1],
    ['the profile', '', 'full', 7, 3],
    ['the defaults', '', 'mine', 5, 3],
  ])('has the limits of %s', (_, line, profile, max_iterations, stuck_threshold) => {
    const files = { [EDGE_PATH]: edgeFile(line), 'profiles/mine.yml': 'profile: mine\n' };
    expect(planOf(files, { profile })).toMatchObject({ max_iterations, stuck_threshold });
  });

  it('has the settings of the project, except where the edge has its own', () => {
    const engine = `construct: { type: replay, transcript: project.json }
evaluate: { type: replay, transcript: judge.json }
budget: { run: { tokens: 10 }, tenant: { usd: 5 } }
review: { deadline_days: 3 }
`;
    const own = edgeFile(
      'construct: { type: replay, transcript: edge.json }',
      'budget: { run: { seconds: 9 } }',
    );
    expect(planOf({ 'engine.yml': engine, [EDGE_PATH]: own })).toMatchObject({
      construct: { transcript: 'edge.json' },
      evaluate: { transcript: 'judge.json' },
      budget: { run: { seconds: 9 }, tenant: { usd: 5 } },
      settings: { review: { deadline_days: 3 } },
    });
    expect(planOf()).toMatchObject({ construct: null, evaluate: null, budget: {}, settings: {} });
  });

  it('has no checks for an edge whose file has faults, and does not exist for an unknown edge', () => {
    const methodology = { ...methodologyOf(), edges: {} };
    expect(edgePlan(methodology, buildFeature(), 'design_code').checks).toEqual([]);
    expect(() => edgePlan(methodology, buildFeature(), 'design_moon')).toThrow('has no edge design_moon');
  });
});

describe('the fault of a checklist that no candidate can pass', () => {
  const edgeWith = (check: string, ...lines: string[]) => ({
    [EDGE_PATH]: edgeFile('checklist:', `  - {name: one, criterion: "It is so", ${check}}`, ...lines),
    'profiles/mine.yml': 'profile: mine\nevaluators: {default: [agent, deterministic]}\n',
  });
  const EVALUATE = 'evaluate: { type: replay, transcript: judge.json }';
  const REFUSED = expect.stringContaining('design_code has no required check under the profile mine');
  const SKIPPED = expect.stringContaining(
    'design_code has required checks that are skipped, so no candidate can converge. one: ',
  );
  it.each([
    ['a required check', edgeWith('type: agent, required: true'), null],
    ['an optional command', edgeWith('type: deterministic, required: false, command: "true"'), null],
    ['an optional check with an evaluator', edgeWith('type: agent, required: false', EVALUATE), null],
    ['an optional check without an evaluator', edgeWith('type: agent, required: false'), REFUSED],
    ['an optional check without a command', edgeWith('type: deterministic, required: false'), REFUSED],
    ['a check of a type that the profile leaves out', edgeWith('type: human, required: true'), REFUSED],
    ['a required check without a command', edgeWith('type: deterministic, required: true'), SKIPPED],
    [
      'a required check whose variable is not set',
      edgeWith('type: deterministic, required: true, command: "$tools.none.command"'),
      SKIPPED,
    ],
    [
      'a required check, with a next step that fits every reason',
      edgeWith('type: deterministic, required: true'),
      expect.stringMatching(
        /one: It has no command\. Correct this in the configuration, or remove the check/,
      ),
    ],
  ])('is found or ruled out by %s', (_, files, expected) => {
    expect(nonConvergingPlanFault(planOf(files, { profile: 'mine' }), 'mine')).toEqual(expected);
  });
});
