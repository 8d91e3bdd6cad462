import { describe, expect, it } from 'vitest';
import { buildFeature, methodologyOf } from '../testing.js';
import { effectiveChecklist } from './checklist.js';
import type { Methodology } from './methodology.js';

const CONSTRAINTS = `tools:
  test_runner: { command: npm test }
  coverage:
    command: npm run coverage
    args: "--min $thresholds.test_coverage_minimum"
    pass_criterion: "coverage >= $thresholds.test_coverage_minimum"
  linter: { command: biome, args: check }
  formatter: { command: biome, args: format }
  type_checker: { command: tsc, required: true }
constraint_dimensions:
  ecosystem_compatibility: node
  deployment_target: { platform: "" }
  security_model: rbac
  build_system: npm
`;
const WITH_TOOLS = methodologyOf({ 'context/project_constraints.yml': CONSTRAINTS });

const checksByName = (
  methodology: Methodology,
  edge: string,
  overrides: Parameters<typeof buildFeature>[0] = {},
) =>
  new Map(effectiveChecklist(methodology, buildFeature(overrides), edge).map((check) => [check.name, check]));
const methodologyWithChecklist = (checklist: string) =>
  methodologyOf({
    'graph/edges/tdd.yml': `edge: tdd\nchecklist:\n${checklist}`,
    'context/project_constraints.yml': CONSTRAINTS,
  });

describe('variables', () => {
  // req: EVL-006
  it('are replaced recursively', () => {
    expect(checksByName(WITH_TOOLS, 'code↔unit_tests').get('coverage_meets_threshold')).toEqual({
      name: 'coverage_meets_threshold',
      type: 'deterministic',
      criterion: 'At least 0.8 of the code is run by tests',
      required: true,
      command: 'npm run coverage --min 0.8',
      pass_criterion: 'coverage >= 0.8',
      skipped: null,
    });
  });

  it("use a feature's own thresholds, in any spelling", () => {
    for (const name of [
      'test_coverage_minimum',
      'thresholds.test_coverage_minimum',
      '$thresholds.test_coverage_minimum',
    ]) {
      const checks = checksByName(WITH_TOOLS, 'tdd', { threshold_overrides: { [name]: 0.95 } });
      expect(checks.get('coverage_meets_threshold')?.pass_criterion).toBe('coverage >= 0.95');
    }
  });

  it('may decide whether a check is required', () => {
    expect(checksByName(WITH_TOOLS, 'tdd').get('type_check')?.required).toBe(true);
    expect(checksByName(methodologyOf(), 'tdd').get('type_check')?.required).toBe(false);
  });

  it('that are not set leave the check required and skipped', () => {
    expect(checksByName(methodologyOf(), 'tdd').get('tests_pass')).toMatchObject({
      required: true,
      skipped: '$tools.test_runner.command is empty in .ai-workspace/context/project_constraints.yml.',
    });
    const methodology = methodologyWithChecklist(
      '  - { name: a, type: agent, required: $tools.moon.required, criterion: "as $standards.moon" }\n',
    );
    expect(checksByName(methodology, 'tdd').get('a')).toMatchObject({
      required: true,
      skipped: '$standards.moon is not set in .ai-workspace/context/project_constraints.yml.',
    });
  });
});

describe('a check', () => {
  it('of type deterministic without a command is skipped', () => {
    const methodology = methodologyWithChecklist('  - { name: a, type: deterministic }\n');
    expect(checksByName(methodology, 'tdd').get('a')).toMatchObject({
      required: true,
      skipped: 'It has no command.',
    });
  });

  // req: EVL-003, EVL-004
  it('of a type that the profile excludes is left out', () => {
    const checkTypesOn = (profile: string, edge: string) =>
      new Set(effectiveChecklist(WITH_TOOLS, buildFeature({ profile }), edge).map(({ type }) => type));
    expect(checkTypesOn('standard', 'design→code')).toEqual(new Set(['deterministic', 'agent']));
    expect(checkTypesOn('standard', 'intent→requirements')).toEqual(new Set(['agent', 'human']));
    expect(checkTypesOn('minimal', 'design→code')).toEqual(new Set(['agent']));
    expect(checkTypesOn('hotfix', 'intent→requirements')).toEqual(new Set(['human']));
  });

  it('of a mandatory dimension is skipped while the dimension is undecided', () => {
    const checks = checksByName(WITH_TOOLS, 'requirements_design');
    expect(checks.get('security_model_resolved')?.skipped).toBeNull();
    expect(checks.get('deployment_target_resolved')?.skipped).toContain('deployment_target is undecided');
  });

  it('with a duplicate name appears once, in its most restrictive form', () => {
    const check = { name: 'tests_pass', type: 'deterministic', criterion: 'x', source: 'feature' } as const;
    const methodology = methodologyWithChecklist(
      '  - { name: tests_pass, type: deterministic, required: false }\n',
    );
    expect(
      effectiveChecklist(
        methodology,
        buildFeature({ additional_checks: [{ ...check, required: true, command: 'make test' }] }),
        'tdd',
      ),
    ).toEqual([
      {
        name: 'tests_pass',
        type: 'deterministic',
        criterion: 'x',
        required: true,
        command: 'make test',
        skipped: null,
      },
    ]);
    const advisory = buildFeature({ additional_checks: [{ ...check, required: false, command: 'true' }] });
    expect(effectiveChecklist(WITH_TOOLS, advisory, 'tdd')[0]).toMatchObject({
      command: 'npm test',
      required: true,
    });
  });
});

describe("a feature's own criteria", () => {
  const acceptance_criteria = [
    {
      id: 'AC-1',
      description: 'fast',
      evaluator: 'deterministic',
      check: '$tools.test_runner.command',
      required: true,
    },
    { id: 'AC-2', description: 'kind', evaluator: 'human', check: 'ask', required: false },
  ] as const;

  it('are included whatever the profile filters, deterministic first and human last', () => {
    const checks = effectiveChecklist(
      WITH_TOOLS,
      buildFeature({ acceptance_criteria, profile: 'minimal' }),
      'design_code',
    );
    expect(checks[0]).toMatchObject({ name: 'AC-1', command: 'npm test', skipped: null });
    expect(checks.at(-1)).toEqual({
      name: 'AC-2',
      type: 'human',
      criterion: 'kind',
      required: false,
      skipped: null,
    });
  });
});

describe('a human check', () => {
  const humanChecks = (profile: string, edge: string, methodology = WITH_TOOLS) =>
    effectiveChecklist(methodology, buildFeature({ profile }), edge)
      .filter(({ type }) => type === 'human')
      .map(({ name }) => name);

  it('is added once to every edge if the profile requires it', () => {
    expect(humanChecks('full', 'code_cicd')).toEqual(['human_approval']);
    expect(humanChecks('full', 'requirements_design')).toEqual(['human_approves_architecture']);
  });

  it('is added to the last edge of a hotfix, to verify production', () => {
    expect(humanChecks('hotfix', 'code_unit_tests')).toEqual(['production_verified']);
    expect(humanChecks('hotfix', 'design_code')).toEqual([]);
  });

  it('is added if the edge requires it', () => {
    const text = 'edge: design→code\nchecklist: []\nconvergence: { human_required: true }\n';
    expect(
      humanChecks('standard', 'design_code', methodologyOf({ 'graph/edges/design_code.yml': text })),
    ).toEqual(['human_approval']);
  });
});

it('gives an empty checklist for an unknown edge', () => {
  expect(effectiveChecklist(WITH_TOOLS, buildFeature(), 'code→moon')).toEqual([]);
  expect(effectiveChecklist(WITH_TOOLS, buildFeature(), 'constructor')).toEqual([]);
});

it('keeps a human check even if a deterministic check has the same name', () => {
  const methodology = methodologyWithChecklist(
    '  - { name: agreed, type: deterministic, criterion: c, required: true, command: make }\n',
  );
  const criterion = { id: 'agreed', description: 'd', evaluator: 'human', required: true } as const;
  expect(checksByName(methodology, 'tdd', { acceptance_criteria: [criterion] }).get('agreed')).toMatchObject({
    type: 'human',
    required: true,
  });
});

describe('how a check is run', () => {
  const check = (fields: string) =>
    `  - {name: covered, type: deterministic, criterion: c, required: true, command: "a > b", ${fields}}\n`;

  it('is taken from the edge file, with variables of the minimum replaced', () => {
    const report = '{format: lcov, path: lcov.info, minimum_percent: $thresholds.test_coverage_minimum}';
    const methodology = methodologyWithChecklist(
      check(`shell: true, timeout_seconds: 30, report: ${report}`),
    );
    expect(checksByName(methodology, 'tdd').get('covered')).toMatchObject({
      shell: true,
      timeout_seconds: 30,
      report: { format: 'lcov', path: 'lcov.info', minimum_percent: 80 },
      skipped: null,
    });
  });

  it('is unknown if its minimum cannot be resolved, so the check is skipped', () => {
    const report = '{format: lcov, path: lcov.info, minimum_percent: $thresholds.unknown}';
    expect(
      checksByName(methodologyWithChecklist(check(`report: ${report}`)), 'tdd').get('covered')?.skipped,
    ).toContain('unknown');
  });
});
