import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConfigFault } from '../../contract/problem.js';
import { methodologyOf, parseValidMethodology } from '../testing.js';
import { DEFAULT_FILES } from './defaults.generated.js';
import { featureSchema, METHODOLOGY_LENGTH_MAX, methodologySchema } from './methodology.js';
import { FILE_LENGTH_MAX } from './read/yaml-file.js';
import { parseMethodology } from './read-methodology.js';

const faultsOf = (files: Record<string, string>): readonly ConfigFault[] => {
  const reading = parseMethodology(new Map(Object.entries(files)));
  return reading.faults;
};
const locationOf = ({ file, path, line, column }: ConfigFault) => `${file} ${path} ${line}:${column}`;

describe('an empty workspace', () => {
  const { methodology, features, warnings } = parseValidMethodology();

  it('has the built-in topology of ten types and ten transitions, the feedback loop last', () => {
    expect(methodology.topology.asset_types).toHaveLength(10);
    expect(methodology.topology.transitions.map(({ edge }) => edge)).toEqual([
      'intent_requirements',
      'requirements_design',
      'design_code',
      'code_unit_tests',
      'design_test_cases',
      'design_uat_tests',
      'code_cicd',
      'cicd_running_system',
      'running_system_telemetry',
      'telemetry_intent',
    ]);
    const mandatory = methodology.topology.constraint_dimensions.filter((dimension) => dimension.mandatory);
    expect(mandatory.map(({ name }) => name)).toEqual([
      'ecosystem_compatibility',
      'deployment_target',
      'security_model',
      'build_system',
    ]);
  });

  // req: ROL-004
  it('has six profiles, six roles, and a check that must pass on every edge', () => {
    expect(Object.keys(methodology.profiles)).toEqual([
      'full',
      'standard',
      'poc',
      'spike',
      'hotfix',
      'minimal',
    ]);
    expect(Object.keys(methodology.roles.roles)).toHaveLength(6);
    expect(methodology.roles).toMatchObject({
      outside_authority_action: 'escalate',
      spec_mutation_requires_human: true,
    });
    for (const { edge } of methodology.topology.transitions) {
      expect(methodology.edges[edge]?.checklist.filter(({ required }) => required === true)).not.toHaveLength(
        0,
      );
    }
  });

  it('has iteration limits and time boxes per profile', () => {
    const budgets = Object.values(methodology.profiles).map((profile) => [
      profile.name,
      profile.max_iterations,
      profile.stuck_threshold,
    ]);
    expect(budgets).toEqual([
      ['full', 7, 3],
      ['standard', 5, 3],
      ['poc', 8, 5],
      ['spike', 10, 5],
      ['hotfix', 3, 1],
      ['minimal', 5, 3],
    ]);
    expect(methodology.profiles.hotfix).toMatchObject({
      additional_condition: 'production_verified',
      time_box: { duration_seconds: 14_400, check_in_seconds: 3600, on_expiry: 'escalate' },
    });
    expect(methodology.profiles.minimal?.time_box).toEqual({
      duration_seconds: 600,
      check_in_seconds: null,
      on_expiry: 'accept_best_effort',
    });
  });

  it('is in multi-agent mode, without features and without warnings', () => {
    expect(methodology).toMatchObject({
      mode: 'multi',
      default_profile: 'standard',
      modules: null,
      has_intent: false,
    });
    expect(features).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('gives the same methodology when the built-in files are written out', () => {
    expect(methodologyOf(Object.fromEntries(DEFAULT_FILES))).toEqual(methodology);
  });

  it('gives a record far below the size limit of the log', () => {
    expect(methodologySchema.parse(methodology)).toEqual(methodology);
    expect(JSON.stringify(methodology).length).toBeLessThan(METHODOLOGY_LENGTH_MAX / 10);
  });
});

describe('a fault', () => {
  const topology = DEFAULT_FILES.get('graph/graph_topology.yml') ?? '';
  const graph = 'graph:\n  include: [design→code]\n';
  it.each<[name: string, file: string, text: string, position: string, expectedMessage: string]>([
    ['text that is not YAML', 'profiles/a.yml', 'profile: [\n', ' 2:1', 'Flow sequence'],
    ['a file that is a list', 'profiles/a.yml', '- a\n', ' 1:1', 'expected object, received array'],
    ['an empty file', 'agent_roles.yml', '', ' 1:1', 'expected object, received null'],
    ['an alias', 'coordination.yml', 'a: &a 1\nb: *a\n', 'b 2:4', 'write the value out'],
    ['a duplicate name', 'coordination.yml', 'a: 1\na: 2\n', 'a 2:1', 'written twice'],
    ['a forbidden name', 'coordination.yml', '__proto__: 1\n', '__proto__ 1:1', 'not allowed'],
    [
      'an unknown mode',
      'coordination.yml',
      'coordination:\n  mode: swarm\n',
      'coordination.mode 2:3',
      '"single"|"multi"',
    ],
    [
      'a stale threshold that is not below the lease',
      'coordination.yml',
      'claims:\n  stale_threshold_seconds: 9\n  claim_ttl_seconds: 9\n',
      'claims.stale_threshold_seconds 2:3',
      'must be below',
    ],
    [
      'a profile without edges',
      'profiles/a.yml',
      'graph:\n  include: []\n',
      'graph.include 2:3',
      'at least one edge',
    ],
    ['a profile without a graph', 'profiles/a.yml', 'profile: a\n', 'graph 1:1', 'is missing'],
    [
      'an invalid duration',
      'profiles/a.yml',
      `${graph}iteration:\n  time_box:\n    duration: a while\n`,
      'iteration.time_box.duration 5:5',
      'is not a valid duration',
    ],
    [
      'an unknown action',
      'agent_roles.yml',
      'roles: {}\nauthority:\n  outside_authority_action: shrug\n',
      'authority.outside_authority_action 3:3',
      '"escalate"|"reject"|"warn"',
    ],
    [
      'a transition from an unknown asset type',
      'graph/graph_topology.yml',
      topology.replace('source: intent', 'source: dream'),
      'transitions[0].source 37:5',
      'Unknown asset type "dream"',
    ],
    [
      'a transition without a target',
      'graph/graph_topology.yml',
      'asset_types: { a: {} }\ntransitions:\n  - source: a\n',
      'transitions[0].target 3:5',
      'is missing',
    ],
    [
      'a check of an unknown type',
      'graph/edges/tdd.yml',
      'checklist:\n  - name: a\n    type: oracle\n',
      'checklist[0].type 3:5',
      '"deterministic"|"agent"|"human"',
    ],
    [
      'two checks with one name',
      'graph/edges/tdd.yml',
      'checklist:\n  - { name: a, type: agent }\n  - { name: a, type: human }\n',
      'checklist[1].name 3:7',
      'two checks called "a"',
    ],
    [
      'an invalid value of required',
      'graph/edges/tdd.yml',
      'checklist:\n  - { name: a, type: agent, required: maybe }\n',
      'checklist[0].required 2:29',
      'true, false or a variable',
    ],
    [
      'an unknown default profile',
      'context/project_constraints.yml',
      'project:\n  default_profile: grand\n',
      'project.default_profile 2:3',
      'Unknown profile "grand"',
    ],
    [
      'tools that are a list',
      'context/project_constraints.yml',
      'tools: [a]\n',
      'tools 1:1',
      'expected record',
    ],
    [
      'modules that are a number',
      'graph/modules.yml',
      'feature_module_map:\n  REQ-F-A-001: 3\n',
      'feature_module_map.REQ-F-A-001 2:3',
      'expected array',
    ],
    [
      'a feature with #',
      'features/active/a.yml',
      'feature: "A#1"\n',
      'feature 1:1',
      'expected letters, digits',
    ],
    ['a feature without an id', 'features/active/-.yml', 'title: x\n', 'feature 1:1', 'is missing'],
    [
      'a feature of an unknown profile',
      'features/active/a.yml',
      'feature: A-1\nprofile: grand\n',
      'profile 2:1',
      'Unknown profile "grand"',
    ],
    [
      'an unknown vector type',
      'features/active/a.yml',
      'feature: A-1\nvector_type: epic\n',
      'vector_type 2:1',
      '"feature"|"discovery"',
    ],
    [
      'a time box without a duration',
      'features/active/a.yml',
      'feature: A-1\ntime_box:\n  enabled: true\n',
      'time_box.duration 2:1',
      'is missing',
    ],
    [
      'a feature that depends on itself',
      'features/active/a.yml',
      'feature: A-1\ndepends_on: [A-1]\n',
      'depends_on 2:1',
      'A-1 → A-1',
    ],
  ])('is reported with its source position: %s', (_, file, text, position, expectedMessage) => {
    const [fault, ...otherFaults] = faultsOf({ [file]: text });
    expect(fault === undefined ? 'nothing' : locationOf(fault)).toBe(`${file} ${position}`);
    expect(fault?.message).toContain(expectedMessage);
    expect(otherFaults).toEqual([]);
  });

  it('names a dependency cycle of features, wherever it is entered', () => {
    const featureWaitingOn = (id: string, on: string) =>
      `feature: ${id}\ndependencies:\n  - feature: ${on}\n`;
    const faults = faultsOf({
      'features/active/a.yml': featureWaitingOn('REQ-F-A-001', 'REQ-F-B-001'),
      'features/active/b.yml': featureWaitingOn('REQ-F-B-001', 'REQ-F-C-001'),
      'features/completed/c.yml': featureWaitingOn('REQ-F-C-001', 'REQ-F-B-001'),
    });
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toContain('REQ-F-B-001 → REQ-F-C-001 → REQ-F-B-001');
    expect(faults[0]).toMatchObject({ file: 'features/active/b.yml', line: 2 });
  });

  it('names both files of a duplicate feature id', () => {
    const feature = 'feature: REQ-F-A-001\n';
    const faults = faultsOf({ 'features/active/a.yml': feature, 'features/completed/a.yml': feature });
    expect(faults.map(locationOf)).toEqual(['features/completed/a.yml feature 1:1']);
    expect(faults[0]?.message).toContain('features/active/a.yml');
  });

  it('is reported together with all others, in the order of the files', () => {
    const faults = faultsOf({
      'profiles/b.yml': 'graph:\n  include: [moon]\niteration: { time_box: { duration: soon } }\n',
      'profiles/c.yml': 'graph:\n  include: all\niteration: { time_box: { duration: soon } }\n',
      'agent_roles.yml': 'roles: 7\n',
    });
    expect(faults.map(locationOf)).toEqual([
      'agent_roles.yml roles 1:1',
      'profiles/b.yml graph.include 2:3',
      'profiles/c.yml iteration.time_box.duration 3:26',
    ]);
  });

  it('is reported for a topology with more than 500 transitions', () => {
    const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
    const pairs = names.flatMap((source, index) =>
      names.slice(index + 1).map((target) => ({ source, target })),
    );
    const asset_types = names.map((name) => ({ name }));
    const faultsOfFirst = (count: number) =>
      faultsOf({
        'graph/graph_topology.yml': JSON.stringify({ asset_types, transitions: pairs.slice(0, count) }),
      });
    expect(faultsOfFirst(500)).toEqual([]);
    expect(faultsOfFirst(501)).toMatchObject([{ path: 'transitions' }]);
  });

  it('names the feature that is too long', () => {
    const criteria = Array.from({ length: 200 }, (_, n) => ({
      id: `AC-${n}`,
      description: 'x'.repeat(500),
      evaluator: 'agent',
    }));
    const text = JSON.stringify({ feature: 'F', title: 't', constraints: { acceptance_criteria: criteria } });
    const messages = faultsOf({ 'features/active/F.yml': text }).map(({ message }) => message);
    expect(messages).toEqual([
      expect.stringMatching(
        /^The feature F has \d+ characters; at most 65536 are allowed\. Shorten its texts\.$/,
      ),
    ]);
  });

  it('is reported for a file that is too long and for too many files', () => {
    expect(faultsOf({ 'coordination.yml': '#'.repeat(FILE_LENGTH_MAX + 1) })[0]?.message).toContain(
      'at most',
    );
    const tooManyFiles = new Map(
      Array.from({ length: 5001 }, (_, index) => [`features/active/${index}.yml`, '']),
    );
    expect(parseMethodology(tooManyFiles)).toMatchObject({
      ok: false,
      faults: [{ message: expect.stringContaining('5001 configuration files') }],
    });
  });
});

describe('workspace files of other tools', () => {
  it('are found in all their locations, and the first location takes precedence', () => {
    const profileFile = (description: string) =>
      `profile: standard\ndescription: ${description}\ngraph: { include: all }\n`;
    const { methodology, warnings } = parseValidMethodology({
      'config/profiles/standard.yml': profileFile('far'),
      'profiles/standard.yml': profileFile('near'),
      'claude/context/project_constraints.yml': 'project: { name: near }\n',
      'context/project_constraints.yml': 'project: { name: far }\n',
      'config/edge_params/design_code.yml': 'edge: design→code\ndescription: configured\n',
      'config/coordination.yml': 'coordination: { mode: single }\n',
      'specification/INTENT.md': '# Intent\n\nSell shoes.\n',
    });
    expect(methodology).toMatchObject({
      mode: 'single',
      has_intent: true,
      constraints: { project_name: 'near' },
      profiles: { standard: { description: 'near' } },
      edges: { design_code: { description: 'configured', checklist: [] } },
    });
    expect(warnings.map(({ file }) => file)).toEqual([
      'config/profiles/standard.yml',
      'context/project_constraints.yml',
    ]);
  });

  it('add the checks of adr.yml and code_tagging.yml to their edges', () => {
    const { edges } = methodologyOf({
      'graph/edges/adr.yml':
        'edge: requirements→design\nchecklist:\n  - { name: has_context, type: agent }\n',
      'graph/edges/code_tagging.yml': 'checklist:\n  - { name: valid_tag_format, type: agent }\n',
    });
    const hasCheck = (edge: string, name: string) =>
      edges[edge]?.checklist.some((check) => check.name === name);
    expect(hasCheck('requirements_design', 'has_context')).toBe(true);
    expect(hasCheck('requirements_design', 'no_orphan_components')).toBe(true);
    expect(hasCheck('design_code', 'valid_tag_format')).toBe(true);
    expect(hasCheck('code_unit_tests', 'valid_tag_format')).toBe(true);
    expect(hasCheck('code_cicd', 'valid_tag_format')).toBe(false);
  });

  it('may have the traceability commands in a separate file', () => {
    const { edges } = methodologyOf({
      'graph/edges/design_code.yml':
        'edge: "design→code"\nchecklist:\n  - { name: tags, type: deterministic, source: traceability }\n',
      'graph/edges/traceability.yml':
        'layer_1_req_coverage:\n  - { name: tags, type: deterministic, command: "for f in *; do echo $f; done" }\n',
    });
    expect(edges.design_code?.checklist).toMatchObject([
      { name: 'tags', command: 'for f in *; do echo $f; done' },
    ]);
  });

  it('may contain several YAML documents', () => {
    const text = '---\ncoordination: { mode: single }\n---\nparallelism: { enforce: true }\n';
    expect(methodologyOf({ 'coordination.yml': text })).toMatchObject({
      mode: 'single',
      parallelism: { enforce: true },
    });
  });

  it('may have thresholds in a separate file', () => {
    const text = `escalation:
  probabilistic_to_human:
    triggers:
      - { name: stuck_threshold, default: 4, per_profile: { night: 2 } }
      - { name: confidence_floor, default: 0.7 }
`;
    const night = 'profile: night\ngraph: { include: all }\n';
    const { profiles } = methodologyOf({
      'config/intentengine_config.yml': text,
      'profiles/night.yml': night,
    });
    expect(profiles.night).toMatchObject({ stuck_threshold: 2, max_iterations: 5 });
    expect(profiles.standard).toMatchObject({ stuck_threshold: 3 });
  });

  // req: ITR-015
  it('may define other asset types and edges, which drops unsuitable built-in profiles', () => {
    const { methodology, warnings } = parseValidMethodology({
      'graph/graph_topology.yml': `asset_types:
  - name: idea
  - name: song
transitions:
  - { name: Write it, source: idea, target: song, bidirectional: true, edge_type: idea_song }
`,
      'profiles/quick.yml': 'graph: { include: ["Write it"] }\n',
    });
    expect(methodology.topology.transitions).toMatchObject([
      { edge: 'idea_song', edge_type: 'co_evolution' },
    ]);
    expect(methodology.profiles.quick?.include).toEqual(['idea_song']);
    expect(Object.keys(methodology.profiles)).toEqual(['full', 'quick']);
    expect(methodology.default_profile).toBe('full');
    expect(methodology.roles.roles.architect?.converge_edges).toEqual([]);
    expect(methodology.edges.idea_song?.checklist.map(({ type }) => type)).toEqual(['agent', 'human']);
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('No file defines the checks of idea_song'),
    ]);
  });

  it('may add checks in the project constraints', () => {
    const { methodology, warnings } = parseValidMethodology({
      'context/project_constraints.yml': `evaluator_overrides:
  edges:
    "design→code":
      evaluators: [deterministic]
      additional_checks:
        - { name: licence_present, type: agent }
constraint_dimensions:
  security_model: { authentication: "", notes: "{to be said}" }
  build_system: { tool: npm }
language: { primary: typescript }
thresholds: { test_coverage_minimum: 0.9 }
`,
    });
    const checks = methodology.edges.design_code?.checklist ?? [];
    expect(checks.filter(({ type }) => type === 'agent').map(({ name, source }) => [name, source])).toEqual([
      ['licence_present', 'project'],
    ]);
    expect(warnings).toMatchObject([{ path: 'evaluator_overrides.edges.design→code.evaluators', line: 4 }]);
    expect(methodology.constraints).toMatchObject({
      language: 'typescript',
      thresholds: { test_coverage_minimum: 0.9, max_function_lines: 50 },
      constraint_dimensions: { security_model: null, build_system: { tool: 'npm' } },
    });
  });
});

describe('a profile that does not fit', () => {
  const graph = 'graph:\n  include: [design→code]\n';
  it.each([
    [
      'an edge',
      'graph:\n  include:\n    - design→code\n    - code→moon\n',
      'graph.include[1]',
      '"code→moon"',
    ],
    ['a skipped edge', `${graph}  skip: [moon]\n`, 'graph.skip[0]', '"moon"'],
    [
      'an override',
      `${graph}evaluators:\n  overrides:\n    moon: [agent]\n`,
      'evaluators.overrides.moon',
      '"moon"',
    ],
    ['an evaluator', `${graph}evaluators:\n  default: [oracle]\n`, 'evaluators.default[0]', '"oracle"'],
  ])('is used without %s that does not exist, and a warning names it', (_, text, path, name) => {
    const { methodology, warnings } = parseValidMethodology({ 'profiles/a.yml': text });
    expect(warnings).toContainEqual(
      expect.objectContaining({ file: 'profiles/a.yml', path, message: expect.stringContaining(name) }),
    );
    expect(methodology.profiles.a).toMatchObject({ include: ['design_code'] });
    expect(methodology.profiles.a?.evaluators).toEqual(['deterministic', 'agent', 'human']);
  });

  it('is treated like a role that names a missing edge: the edge is left out, and a warning names it', () => {
    const { methodology, warnings } = parseValidMethodology({
      'agent_roles.yml': 'roles:\n  pilot:\n    converge_edges: [nowhere, design→code]\n',
    });
    expect(warnings).toMatchObject([
      { path: 'roles.pilot.converge_edges[0]', message: expect.stringContaining('"nowhere"') },
    ]);
    expect(methodology.roles.roles.pilot?.converge_edges).toEqual(['design_code']);
  });

  it('is named in a warning with its missing edges, even if it is built in', () => {
    const { methodology, warnings } = parseValidMethodology({
      'graph/graph_topology.yml': `asset_types: { intent: {}, requirements: {}, design: {}, code: {}, unit_tests: {} }
transitions:
  - { source: intent, target: requirements }
  - { source: requirements, target: design }
  - { source: code, target: unit_tests, bidirectional: true, edge_type: tdd }
`,
    });
    expect(methodology.profiles.standard?.missing_edges).toContain('design_code');
    expect(warnings.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(
        /^The profile standard names edges that the topology does not have: .*design_code/,
      ),
    );
  });
});

describe('constraints in the spellings of other installers', () => {
  const dimensionsOf = (text: string, path = 'context/project_constraints.yml') => {
    const { methodology, warnings } = parseValidMethodology({ [path]: text });
    return { constraints: methodology.constraints, warnings };
  };
  it.each([
    ['constraints:', 'constraints: { build_system: { tool: npm } }\n'],
    ['dimensions:', 'dimensions: { build_system: { tool: npm } }\n'],
    ['top-level keys', 'build_system: { tool: npm }\n'],
    ['a list with names', 'constraint_dimensions:\n  - { name: build_system, tool: npm }\n'],
    ['a list of records', 'dimensions:\n  - build_system: { tool: npm }\n'],
    ['a list of values', 'constraints:\n  - { dimension: build_system, value: { tool: npm } }\n'],
    [
      'an empty template beside a decision',
      'constraint_dimensions: { build_system: { tool: "" } }\nbuild_system: { tool: npm }\n',
    ],
  ])('are read from %s', (_, text) => {
    const { constraints, warnings } = dimensionsOf(text);
    expect(constraints.constraint_dimensions).toEqual({ build_system: { tool: 'npm' } });
    expect(warnings).toEqual([]);
  });

  it('are read with tools from constraints:, and from the file of an implementation', () => {
    const text =
      'project: { language: python }\nconstraints: { tools: { linter: { command: ruff } }, build_system: { tool: pip } }\n';
    for (const path of [
      'fastapi_genesis/project_constraints.yml',
      'claude/context/project_constraints.yml',
    ]) {
      const { constraints } = dimensionsOf(text, path);
      expect(constraints).toMatchObject({
        language: 'python',
        tools: { linter: { command: 'ruff' } },
        constraint_dimensions: { build_system: { tool: 'pip' } },
      });
      expect(constraints.constraint_dimensions).not.toHaveProperty('tools');
    }
  });

  it('get a warning if they are not used, and a fault if they cannot be read', () => {
    expect(dimensionsOf('structure: { policy: reject }\n').warnings).toMatchObject([
      { message: 'These keys of the file are not used: structure.' },
    ]);
    expect(dimensionsOf('constraints:\n  - Python only\n').warnings).toMatchObject([
      { path: 'constraints[0]', message: expect.stringContaining('not used') },
    ]);
    expect(faultsOf({ 'context/project_constraints.yml': 'dimensions: all\n' })).toMatchObject([
      { path: 'dimensions' },
    ]);
  });
});

describe('a feature file in an older shape', () => {
  const featureOf = (text: string, path = 'features/active/a.yml') =>
    parseValidMethodology({ [path]: text }).features[0];

  it('is read with its fields nested under feature:', () => {
    const text = `feature: { id: REQ-F-A-001, title: A, profile: full, acceptance_criteria: [It works] }\nstatus: pending\n`;
    expect(featureOf(text)).toMatchObject({
      feature_id: 'REQ-F-A-001',
      title: 'A',
      profile: 'full',
      acceptance_criteria: [{ description: 'It works', evaluator: 'agent', required: true }],
    });
  });

  it('is read from vectors/ with an id: and a parent_vector_id:', () => {
    const text = 'id: REQ-F-B-001\nparent_vector_id: REQ-F-A-001\nvector_type: feature\n';
    expect(featureOf(text, 'vectors/active/b.yml')).toMatchObject({
      feature_id: 'REQ-F-B-001',
      parent: { feature: 'REQ-F-A-001' },
    });
    const { features, warnings } = parseValidMethodology({
      'features/active/b.yml': 'feature: REQ-F-B-001\ntitle: new\n',
      'vectors/active/b.yml': text,
    });
    expect(features).toMatchObject([{ title: 'new' }]);
    expect(warnings).toMatchObject([{ file: 'vectors/active/b.yml' }]);
  });

  it('is read with criteria that have a key: or are prose, and a warning names an unknown evaluator', () => {
    const text = `feature: REQ-F-A-001
constraints:
  acceptance_criteria:
    - { key: REQ-A-1, criterion: It starts, priority: high }
    - Tests cover: login and logout
    - A sentence
    - { id: AC-X, description: D, evaluator: F_H }
    - { id: AC-Y, description: D, evaluator: oracle }
`;
    const { features, warnings } = parseValidMethodology({ 'features/active/a.yml': text });
    expect(
      features[0]?.acceptance_criteria.map((criterion) => [
        criterion.id,
        criterion.description,
        criterion.evaluator,
      ]),
    ).toEqual([
      ['REQ-A-1', 'It starts', 'agent'],
      ['AC-2', 'Tests cover: login and logout', 'agent'],
      ['AC-3', 'A sentence', 'agent'],
      ['AC-X', 'D', 'human'],
      ['AC-Y', 'D', 'agent'],
    ]);
    expect(warnings).toMatchObject([
      { path: 'constraints.acceptance_criteria[4].evaluator', message: expect.stringContaining('"oracle"') },
    ]);
  });

  it('is refused with the reason if a criterion has neither an id nor a key', () => {
    const text = 'feature: REQ-F-A-001\nconstraints: { acceptance_criteria: [{ a: 1, b: 2 }] }\n';
    expect(faultsOf({ 'features/active/a.yml': text })).toMatchObject([
      { path: expect.stringContaining('acceptance_criteria[0]') },
    ]);
  });
});

describe('a feature file', () => {
  const read = (text: string, name = 'REQ-F-A-001') => {
    const { features, warnings } = parseValidMethodology({ [`features/active/${name}.yml`]: text });
    return { feature: features[0], warnings: warnings.map(({ message }) => message) };
  };

  it('is read with all its fields', () => {
    const { feature, warnings } = read(`feature: REQ-F-AUTH-001
title: Sign in
intent: INT-001
vector_type: spike
priority: High
created: 2026-01-01T00:00:00Z
time_box: { enabled: true, duration: 1 week, started: "2026-01-02", check_in: daily, on_expiry: escalate }
parent: { feature: REQ-F-A-001, edge: Design → Code, reason: too risky }
dependencies:
  - { feature: REQ-F-B-001, asset: design, status: pending }
depends_on: [REQ-F-C-001]
requirements: [REQ-AUTH-001, { id: REQ-AUTH-002, text: x }]
satisfies: [REQ-AUTH-001]
constraints:
  acceptance_criteria:
    - { id: AC-LOGIN, description: signs in, evaluator: deterministic, check: npm test, req: x }
    - a bare sentence
  threshold_overrides: { test_coverage_minimum: 0.95 }
  additional_checks:
    - { name: pen_test, type: human, criterion: nobody gets in, required: false }
`);
    expect(warnings).toHaveLength(2);
    expect(feature).toEqual({
      feature_id: 'REQ-F-AUTH-001',
      title: 'Sign in',
      intent: 'INT-001',
      vector_type: 'spike',
      profile: 'spike',
      priority: 'high',
      created: '2026-01-01T00:00:00Z',
      time_box: {
        duration_seconds: 604_800,
        check_in_seconds: 86_400,
        on_expiry: 'escalate',
        started: '2026-01-02',
      },
      parent: { feature: 'REQ-F-A-001', edge: 'design_code', reason: 'too risky' },
      dependencies: [
        { feature: 'REQ-F-B-001', asset: 'design' },
        { feature: 'REQ-F-C-001', asset: null },
      ],
      requirements: ['REQ-F-AUTH-001', 'REQ-AUTH-001', 'REQ-AUTH-002'],
      acceptance_criteria: [
        {
          id: 'AC-LOGIN',
          description: 'signs in',
          evaluator: 'deterministic',
          check: 'npm test',
          required: true,
        },
        { id: 'AC-2', description: 'a bare sentence', evaluator: 'agent', required: true },
      ],
      threshold_overrides: { test_coverage_minimum: 0.95 },
      additional_checks: [
        { name: 'pen_test', type: 'human', criterion: 'nobody gets in', required: false, source: 'feature' },
      ],
    });
    expect(featureSchema.parse(feature)).toEqual(feature);
  });

  it('from a template has defaults for empty fields', () => {
    const { feature, warnings } = read(`feature: REQ-F-A-001
title: "{feature title}"
intent: ""
profile: null
time_box: { enabled: false, duration: "", started: "", check_in: "", on_expiry: fold_back }
parent: { feature: "", edge: "", reason: "" }
children: []
trajectory: { design: { status: pending } }
dependencies: []
constraints:
`);
    expect(warnings).toEqual([]);
    expect(feature).toMatchObject({
      title: 'REQ-F-A-001',
      intent: null,
      profile: 'standard',
      time_box: null,
      parent: null,
      requirements: ['REQ-F-A-001'],
    });
  });

  it('may have a parent that is only a name', () => {
    expect(read('feature: REQ-F-A-001\nparent: REQ-F-P-001\n').feature?.parent?.feature).toBe('REQ-F-P-001');
    expect(read('feature: REQ-F-A-001\nparent_id: REQ-F-P-001\n').feature?.parent?.feature).toBe(
      'REQ-F-P-001',
    );
  });

  it('gets a warning that its trajectory is ignored, in any spelling', () => {
    for (const key of ['code', 'design_code', 'design→code', 'code↔unit_tests', 'basis_proj→code']) {
      const { warnings } = read(`feature: REQ-F-A-001\ntrajectory: { "${key}": { status: converged } }\n`);
      expect(warnings).toEqual([expect.stringContaining('trajectory in this file is ignored')]);
    }
  });

  it.each(['REQ-GTL-001', 'unknown', 'REQ-F-x-1'])('with the unusual id %s is read with a warning', (id) => {
    expect(read(`feature: ${id}\n`)).toEqual({
      feature: expect.objectContaining({ feature_id: id }),
      warnings: [expect.stringContaining(id)],
    });
  });

  it.each(['REQ-F-SCHEMA-DISC-001', 'REQ-F-EVOL-NFR-002'])('with the usual id %s has no warning', (id) => {
    expect(read(`feature: ${id}\n`).warnings).toEqual([]);
  });

  it('without an id gets the name of its file', () => {
    expect(read('title: x\n', 'REQ-F-B-002')).toEqual({
      feature: expect.objectContaining({ feature_id: 'REQ-F-B-002' }),
      warnings: [expect.stringContaining('REQ-F-B-002')],
    });
  });
});

it('never throws, whatever the files contain', () => {
  const path = fc.constantFrom(
    ...DEFAULT_FILES.keys(),
    'features/active/a.yml',
    'graph/modules.yml',
    'specification/INTENT.md',
  );
  const word = fc.constantFrom(
    'roles',
    'graph',
    'include',
    'checklist',
    'edge',
    '- ',
    ': ',
    '\n',
    '  ',
    '[',
    ']',
    '{',
    '}',
    '&a',
    '*a',
    '---',
    '"',
    '|',
    '#',
    '!!',
    '%',
    '? ',
    'all',
    '1',
    'null',
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(word, { maxLength: 40 }).map((words) => words.join('')),
  );
  const value = fc.jsonValue({ maxDepth: 4 }).map((json) => JSON.stringify(json));
  fc.assert(
    fc.property(fc.array(fc.tuple(path, fc.oneof(text, value)), { maxLength: 5 }), (files) => {
      const reading = parseMethodology(new Map(files));
      if (reading.ok) methodologySchema.parse(reading.methodology);
      else expect(reading.faults).not.toEqual([]);
    }),
    { numRuns: 300 },
  );
});

it('never throws, whatever value a field of a valid file has', () => {
  const fileAndLine = fc.constantFrom(...DEFAULT_FILES).chain(([path, text]) => {
    const lines = text.split('\n');
    return fc.tuple(
      fc.constant(path),
      fc.constant(lines),
      fc.nat(lines.length - 1),
      fc.constantFrom('', ' 1', ' [x]', ' {}', ' null', ' ~'),
    );
  });
  fc.assert(
    fc.property(fileAndLine, ([path, lines, line, value]) => {
      const changed = lines.with(line, (lines[line] ?? '').replace(/:.*$/, `:${value}`));
      const reading = parseMethodology(new Map([[path, changed.join('\n')]]));
      if (reading.ok) methodologySchema.parse(reading.methodology);
      else for (const fault of reading.faults) expect(fault.line).toBeGreaterThan(0);
    }),
    { numRuns: 300 },
  );
});
