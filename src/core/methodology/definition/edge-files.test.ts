import { describe, expect, it } from 'vitest';
import { SPECIFICATION_EDGE_FILE } from '../../engine/testing.js';
import { parseValidMethodology } from '../testing.js';
import { effectiveChecklist } from './checklist.js';
import type { Feature } from './methodology.js';
import { parseMethodology } from './read-methodology.js';

/** The checks of `SPECIFICATION_EDGE_FILE` in the format with a checklist. */
const CHECKLIST_FILE = `edge: requirements→design
checklist:
  - name: pytest_tests_design_v
    type: deterministic
    criterion: "The command passes: pytest tests/design/ -v"
    command: "pytest tests/design/ -v"
  - name: adrs_reference_implementation_requirements
    type: agent
    criterion: "ADRs reference implementation requirements"
  - name: design_does_not_introduce_spec_level_concerns
    type: agent
    criterion: "Design does not introduce spec-level concerns"
  - name: approve_before_promote
    type: human
    criterion: "A person decides: approve before promote"
convergence: { max_iterations: 5, stuck_threshold: 3, human_required: true }
`;
const PATH = 'config/edge_params/requirements_design.yml';
const FEATURE = 'feature: REQ-F-A-001\nprofile: full\n';

const parse = (files: Record<string, string>) =>
  parseValidMethodology({ 'features/active/REQ-F-A-001.yml': FEATURE, ...files });

const checksOf = (text: string, edge = 'requirements_design', path = PATH) => {
  const { methodology, warnings } = parse({ [path]: text });
  return { checks: methodology.edges[edge]?.checklist ?? [], warnings };
};
const evaluatorsFile = (...lines: string[]): string =>
  `edge: requirements→design\nevaluators:\n${lines.map((line) => `  - ${line}\n`).join('')}`;

describe('an edge file with evaluators', () => {
  // req: EVL-007
  it('of the specification loads without warnings, as the same edge as a file with a checklist', () => {
    const { methodology, warnings } = parse({ [PATH]: SPECIFICATION_EDGE_FILE });
    expect(warnings).toEqual([]);
    expect(methodology.edges.requirements_design).toEqual(
      parse({ [PATH]: CHECKLIST_FILE }).methodology.edges.requirements_design,
    );
    expect(methodology.edges.requirements_design?.checklist).toHaveLength(4);
  });

  it('has all its checks in the effective checklist: programs first, a person last', () => {
    const { methodology, features } = parse({ [PATH]: SPECIFICATION_EDGE_FILE });
    const checks = effectiveChecklist(methodology, features[0] as Feature, 'requirements_design');
    expect(checks.map(({ type, required, skipped }) => [type, required, skipped])).toEqual([
      ['deterministic', true, null],
      ['agent', true, null],
      ['agent', true, null],
      ['human', true, null],
    ]);
  });

  it.each([
    ['by edge_type', 'edge_type: design_code'],
    ['by its ends', 'source: design\ntarget: code'],
    [
      'by source and target, if edge_type is not an edge',
      'edge_type: standard\nsource: design\ntarget: code',
    ],
  ])('belongs to its edge %s, whatever the file is called', (_, head) => {
    const text = `${head}\nevaluators: [{ type: human, gate: look }]\n`;
    const { checks } = checksOf(text, 'design_code', 'graph/edges/mine.yml');
    expect(checks.map(({ name }) => name)).toEqual(['look']);
  });

  it('keeps the checks of both lists, each under a unique name', () => {
    const { checks, warnings } = checksOf(`edge: requirements→design
checklist:
  - { name: look, type: agent }
evaluators:
  - { type: human, gate: look }
  - { type: agent, checklist: ["Look!", "look", "?"] }
`);
    expect(warnings).toEqual([]);
    expect(checks.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'look agent',
      'look_2 human',
      'look_3 agent',
      'look_4 agent',
      'requirements_design_check agent',
    ]);
  });

  it('reads an evaluator that is only a type, functors such as F_H, several commands, and entries with fields', () => {
    const { checks, warnings } = checksOf(
      evaluatorsFile(
        'F_H',
        'deterministic',
        '{ type: F_D, command: [make, make test], pass_criterion: exit code 0, required: false }',
        '{ type: agent, checklist: [{ name: simple, criterion: It is simple, required: $tools.x.required }] }',
      ),
    );
    expect(warnings).toEqual([]);
    expect(checks).toEqual([
      expect.objectContaining({ name: 'requirements_design_human', type: 'human', required: true }),
      expect.objectContaining({
        name: 'requirements_design_deterministic',
        command: '$tools.requirements_design.command $tools.requirements_design.args',
      }),
      expect.objectContaining({
        name: 'make',
        command: 'make',
        required: false,
        pass_criterion: 'exit code 0',
      }),
      expect.objectContaining({ name: 'make_test', command: 'make test', required: false }),
      expect.objectContaining({ name: 'simple', criterion: 'It is simple', required: '$tools.x.required' }),
    ]);
  });
});

describe('the number of checks', () => {
  it('is limited, because each of many equal names must be made unique', () => {
    const text = evaluatorsFile(`{ type: agent, checklist: [${'a,'.repeat(60_000)}] }`);
    const parsed = parseMethodology(new Map([[PATH, text]]));
    expect(parsed).toMatchObject({
      faults: [{ file: PATH, path: 'evaluators', message: 'expected at most 500 checks' }],
    });
    expect(parsed.ok && Object.keys(parsed.methodology.edges)).not.toContain('requirements_design');
  });

  it('is one for an evaluator with empty lists', () => {
    const { checks, warnings } = checksOf(
      evaluatorsFile('{ type: agent, checklist: [] }', '{ type: human, gate: }'),
    );
    expect(warnings).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual([
      'requirements_design_agent',
      'requirements_design_human',
    ]);
  });
});

describe('a field that is not understood', () => {
  it.each([
    [
      'an unknown field',
      '{ type: deterministic, command: make, timeout: 60 }',
      'evaluators[0].timeout',
      'deterministic',
    ],
    [
      'an unknown type with a command',
      '{ type: linter, command: make }',
      'evaluators[0].type',
      'deterministic',
    ],
    ['an unknown type with a checklist', '{ type: judge, checklist: [a] }', 'evaluators[0].type', 'agent'],
    ['an unknown type with nothing', '{ type: oracle }', 'evaluators[0].type', 'human'],
    ['no type', '{ gate: look }', 'evaluators[0].type', 'human'],
    ['a type that is not a text', '{ type: 7, gate: look }', 'evaluators[0].type', 'human'],
    ['a command of an agent', '{ type: agent, command: make }', 'evaluators[0].command', 'deterministic'],
    [
      'a command that is not a text',
      '{ type: deterministic, command: { run: make } }',
      'evaluators[0].command',
      'human',
    ],
    [
      'a checklist of a program',
      '{ type: deterministic, checklist: [a] }',
      'evaluators[0].checklist',
      'agent',
    ],
    [
      'an entry that is not a check',
      '{ type: agent, checklist: [7] }',
      'evaluators[0].checklist[0]',
      'human',
    ],
    [
      'an unknown field of an entry',
      '{ type: agent, checklist: [{ name: a, weight: 2 }] }',
      'evaluators[0].checklist[0].weight',
      'agent',
    ],
    ['a gate of an agent', '{ type: agent, gate: look }', 'evaluators[0].gate', 'human'],
    ['a gate that is not a text', '{ type: human, gate: false }', 'evaluators[0].gate', 'human'],
    ['a wrong required', '{ type: human, gate: look, required: maybe }', 'evaluators[0].required', 'human'],
    ['a wrong criterion', '{ type: human, gate: look, criterion: [a] }', 'evaluators[0].criterion', 'human'],
    ['an evaluator that is a number', '7', 'evaluators[0]', 'human'],
  ])('is a warning in evaluators, and no check is lost: %s', (_, entry, path, type) => {
    const { checks, warnings } = checksOf(evaluatorsFile(entry));
    expect(warnings.map((warning) => `${warning.file} ${warning.path}`)).toEqual([`${PATH} ${path}`]);
    expect(checks).toMatchObject([{ type, required: true }]);
  });

  it('is a warning if the evaluators are not a list, and a person has to check them', () => {
    const text = 'edge: requirements→design\nevaluators: { deterministic: [make] }\n';
    const { checks, warnings } = checksOf(text);
    expect(warnings).toMatchObject([{ file: PATH, path: 'evaluators', line: 2 }]);
    expect(checks).toMatchObject([
      { type: 'human', required: true, criterion: expect.stringContaining('make') },
    ]);
  });

  it.each([
    ['the file', 'checklst: [{ name: a, type: agent }]', 'checklst'],
    ['a check', 'checklist: [{ name: a, type: agent, requird: false }]', 'checklist[0].requird'],
    ['the convergence', 'convergence: { human_requird: true }', 'convergence.human_requird'],
    ['the rule', 'convergence: { rule: majority }', 'convergence.rule'],
  ])('is a warning in %s', (_, line, path) => {
    const { warnings } = checksOf(`edge: requirements→design\n${line}\n`);
    expect(warnings.map((warning) => `${warning.file} ${warning.path}`)).toEqual([`${PATH} ${path}`]);
  });

  it('is a warning if edge_type and the ends are of different edges', () => {
    const { warnings } = checksOf('edge_type: requirements_design\nsource: design\ntarget: code\n');
    expect(warnings).toMatchObject([{ path: 'edge_type', message: expect.stringContaining('design_code') }]);
  });

  it('is not a warning if it is guidance of other tools', () => {
    const text = 'edge: requirements→design\nsource_analysis: []\nagent_guidance: Think.\npattern: p\n';
    expect(checksOf(text).warnings).toEqual([]);
  });
});

describe('evaluator_defaults.yml', () => {
  const DEFAULTS = `evaluator_types:
  deterministic: { description: A program, processing_phase: reflex, pass_criterion: exit code 0 }
  agent: { required: false }
---
convergence_rules:
  { composition: all_must_pass, ordering: as_specified_in_edge_config, on_failure: report_delta_and_iterate, human_always_last: true }
---
evaluators:
  - { type: deterministic, command: make licences }
  - { type: human, gate: look }
checklist:
  - { name: reviewed, type: agent, criterion: A reviewer has read it }
convergence: { max_iterations: 9, stuck_threshold: 4, human_required: true }
`;
  const EDGE = `edge: design→code
checklist:
  - { name: compiles, type: deterministic, command: make }
  - { name: reviewed, type: agent, criterion: The owner read it, required: true }
  - { name: tidy, type: agent }
`;
  const files = { 'config/evaluator_defaults.yml': DEFAULTS, 'graph/edges/design_code.yml': EDGE };

  it('adds its checks and values to every edge, and the file of the edge takes precedence', () => {
    const { methodology, warnings } = parse(files);
    expect(warnings).toEqual([]);
    const config = methodology.edges.design_code;
    expect(config).toMatchObject({ human_required: true, max_iterations: null });
    expect(config?.checklist).toEqual([
      expect.objectContaining({ name: 'compiles', pass_criterion: 'exit code 0', required: true }),
      expect.objectContaining({ name: 'reviewed', criterion: 'The owner read it', required: true }),
      expect.objectContaining({ name: 'tidy', required: false }),
      expect.objectContaining({ name: 'make_licences', command: 'make licences' }),
      expect.objectContaining({ name: 'look', type: 'human' }),
    ]);
    for (const { checklist } of Object.values(methodology.edges))
      expect(checklist.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['reviewed', 'make_licences']),
      );
    const overridden = parse({
      ...files,
      'graph/edges/design_code.yml': `${EDGE}convergence: { human_required: false }\n`,
    });
    expect(overridden.methodology.edges.design_code?.human_required).toBe(false);
  });

  // req: EVL-008
  it('is overridden by the evaluators and the limits of a profile', () => {
    const profileFile = (settings: string) => `profile: night\ngraph: { include: all }\n${settings}`;
    const parseNightProfile = (settings: string) =>
      parse({ ...files, 'profiles/night.yml': profileFile(settings) }).methodology;
    expect(parseNightProfile('').profiles.night).toMatchObject({ max_iterations: 9, stuck_threshold: 4 });
    const limited = parseNightProfile(
      'convergence: { max_iterations: 2 }\nevaluators: { default: [agent] }\n',
    );
    expect(limited.profiles.night).toMatchObject({ max_iterations: 2, stuck_threshold: 4 });
    const feature = { ...(parse(files).features[0] as Feature), profile: 'night' };
    const names = effectiveChecklist(limited, feature, 'design_code').map(({ name }) => name);
    expect(names).toEqual(['reviewed', 'tidy', 'human_approval']);
  });

  it('is overridden by the checks of a feature', () => {
    const feature = `${FEATURE}constraints:\n  additional_checks:\n    - { name: make_licences, type: human, criterion: A lawyer agrees }\n`;
    const { methodology, features } = parse({ ...files, 'features/active/REQ-F-A-001.yml': feature });
    const checks = effectiveChecklist(methodology, features[0] as Feature, 'design_code');
    expect(checks.find(({ name }) => name === 'make_licences')).toMatchObject({
      type: 'human',
      criterion: 'A lawyer agrees',
    });
  });

  it('is overridden by intentengine_config.yml', () => {
    const text =
      'escalation: { probabilistic_to_human: { triggers: [{ name: stuck_threshold, per_profile: { night: 2 } }] } }\n';
    const { profiles } = parse({
      ...files,
      'config/intentengine_config.yml': text,
      'profiles/night.yml': 'graph: { include: all }\n',
    }).methodology;
    expect(profiles.night).toMatchObject({ stuck_threshold: 2, max_iterations: 9 });
  });

  it.each([
    ['evaluator_typs: {}', 'evaluator_typs'],
    ['evaluator_types: { oracle: {} }', 'evaluator_types.oracle'],
    ['evaluator_types: { agent: { requird: true } }', 'evaluator_types.agent.requird'],
    ['convergence: { max_iteration: 3 }', 'convergence.max_iteration'],
    ['convergence_rules: { composition: majority }', 'convergence_rules.composition'],
    ['convergence_rules: { quorum: 2 }', 'convergence_rules.quorum'],
    ['checklist: [{ name: a, type: agent, requird: true }]', 'checklist[0].requird'],
    ['evaluators: [{ type: oracle }]', 'evaluators[0].type'],
  ])('has a warning for an unknown field or value: %s', (text, path) => {
    const { warnings } = parse({ 'graph/evaluator_defaults.yml': `${text}\n` });
    expect(warnings.map((warning) => `${warning.file} ${warning.path}`)).toEqual([
      `graph/evaluator_defaults.yml ${path}`,
    ]);
  });

  it.each(['', '# nothing yet\n', 'description: none\n'])('may be empty: %j', (text) => {
    const { methodology, warnings } = parse({ 'graph/evaluator_defaults.yml': text });
    expect(warnings).toEqual([]);
    expect(methodology).toEqual(parse({}).methodology);
  });
});
