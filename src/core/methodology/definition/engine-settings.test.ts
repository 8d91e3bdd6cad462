import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildFeature, methodologyOf, parseValidMethodology } from '../testing.js';
import { effectiveChecklist } from './checklist.js';
import { engineSettingsSchema, REPORT_FORMATS } from './engine-settings.js';
import { parseMethodology } from './read-methodology.js';

const parse = (files: Record<string, string>) => parseMethodology(new Map(Object.entries(files)));
const EDGE_PATH = 'graph/edges/tdd.yml';
const edgeFile = (...lines: string[]): string => `edge: tdd\n${lines.map((line) => `${line}\n`).join('')}`;

describe('the documentation page about the engine', () => {
  const page = readFileSync(new URL('../../../../docs/engine.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/```yaml\n# (\S+)\n([\s\S]*?)```/g)];

  it.each(blocks.map(([, path = '', text = '']) => [path, text]))(
    'has a valid example %s: %#',
    (path, text) => {
      expect(parse({ [path]: text })).toMatchObject({ ok: true, faults: [], warnings: [] });
    },
  );

  it('shows every setting', () => {
    const settings = blocks.map(([, path = '', text = '']) => methodologyOf({ [path]: text }).engine);
    expect(Object.keys(settings[2] ?? {})).toEqual(Object.keys(engineSettingsSchema.shape));
    expect(page).toContain(REPORT_FORMATS.map((format) => `\`${format}\``).join(', '));
  });
});

describe('engine.yml', () => {
  it('gives no settings of the engine if it is missing or empty', () => {
    expect(methodologyOf()).not.toHaveProperty('engine');
    expect(methodologyOf({ 'engine.yml': '# nothing yet\n' })).not.toHaveProperty('engine');
  });

  it.each(['engine.yml', 'engine.yaml', 'config/engine.yml'])('is read from %s', (path) => {
    const text = `construct: { type: command, command: [agent, --print], timeout_seconds: 900 }
evaluate: { type: model, provider: anthropic, model: judge-1 }
budget: { run: { tokens: 100000 }, tenant: { usd: 50 } }
context: { rag_threshold_bytes: 100000 }
review:
`;
    const { methodology, warnings } = parseValidMethodology({ [path]: text });
    expect(warnings).toEqual([]);
    expect(methodology.engine).toEqual({
      construct: { type: 'command', command: ['agent', '--print'], timeout_seconds: 900 },
      evaluate: { type: 'model', provider: 'anthropic', model: 'judge-1' },
      budget: { run: { tokens: 100_000 }, tenant: { usd: 50 } },
      context: { rag_threshold_bytes: 100_000 },
    });
  });

  it.each([
    ['an unknown section', 'budgets: {}', 'budgets', 'Unknown field "budgets"'],
    ['a key', 'construct: { type: replay, transcript: a, api_key: s }', 'construct.api_key', 'Unknown field'],
    [
      'an unknown type',
      'construct: { type: magic }',
      'construct.type',
      `"type" is not valid: expected 'command' | 'model' | 'replay'.`,
    ],
    [
      'a misspelt field',
      'construct: { type: command, comand: [a] }',
      'construct.comand',
      'Unknown field "comand". Did you mean command?',
    ],
    [
      'a misspelt optional field',
      'construct: { type: command, command: [a], timeout_second: 5 }',
      'construct.timeout_second',
      'Did you mean timeout_seconds?',
    ],
    ['no type', 'construct: { command: [a] }', 'construct.type', '"type" is missing.'],
    ['a line as a command', 'evaluate: { type: command, command: a b }', 'evaluate.command', 'array'],
    ['a budget of nothing', 'budget: { run: { usd: 0 } }', 'budget.run.usd', '>0'],
    ['a deadline of years', 'review: { deadline_days: 1000 }', 'review.deadline_days', '<=366'],
  ])('with %s is refused with its position', (_, text, path, message) => {
    const parsed = parse({ 'engine.yml': `${text}\n` });
    expect(parsed).toMatchObject({ ok: true, faults: [{ file: 'engine.yml', path, line: 1 }] });
    expect(parsed).not.toHaveProperty('methodology.engine');
    expect(parsed.faults[0]?.message).toContain(message);
    expect(parsed.faults[0]?.column).toBeGreaterThan(0);
  });
});

describe('the engine fields of an edge file', () => {
  it('are read without a warning, and are not guidance', () => {
    const { methodology, warnings } = parseValidMethodology({
      [EDGE_PATH]: edgeFile(
        'checklist: [{ name: a, type: agent }]',
        'construct: { type: replay, transcript: t.json }',
        'evaluate:',
        'budget: { run: { seconds: 60 } }',
      ),
    });
    expect(warnings).toEqual([]);
    expect(methodology.edges.code_unit_tests).toMatchObject({
      construct: { type: 'replay', transcript: 't.json' },
      budget: { run: { seconds: 60 } },
      extra: {},
    });
    expect(methodology.edges.code_unit_tests).not.toHaveProperty('evaluate');
  });

  it('are faults of the edge if they cannot be read: it does not converge until they are fixed', () => {
    const parsed = parse({
      [EDGE_PATH]: edgeFile('checklist: [{ name: a, type: agent }]', 'budget: { run: { tokens: many } }'),
    });
    expect(parsed).toMatchObject({
      ok: true,
      faults: [{ file: EDGE_PATH, path: 'budget.run.tokens', line: 3, column: 18 }],
    });
    expect(parsed.ok && parsed.methodology.edges).not.toHaveProperty('code_unit_tests');
  });
});

const CONSTRAINTS = `thresholds: { share: 0.85, exact: 0.29, percent: 90, sign: "1 %", all: 1, word: most, much: 101 }
tools: { test_runner: { command: npm test } }
`;
const checkOf = (text: string, overrides: Parameters<typeof buildFeature>[0] = {}) => {
  const { methodology, warnings } = parseValidMethodology({
    [EDGE_PATH]: edgeFile(text),
    'context/project_constraints.yml': CONSTRAINTS,
  });
  const [check] = effectiveChecklist(methodology, buildFeature(overrides), 'tdd');
  return { check, warnings };
};

describe('the run fields of a check', () => {
  const fields = 'shell: true, timeout_seconds: 60, report: { format: junit, path: out.xml }';
  const expected = { shell: true, timeout_seconds: 60, report: { format: 'junit', path: 'out.xml' } };

  it.each([
    ['checklist', `checklist: [{ name: a, type: deterministic, command: make test, ${fields} }]`],
    ['evaluators', `evaluators: [{ type: deterministic, command: make test, ${fields} }]`],
  ])('are in the effective checklist, from %s', (_, text) => {
    const { check, warnings } = checkOf(text);
    expect(warnings).toEqual([]);
    expect(check).toMatchObject({ command: 'make test', ...expected, skipped: null });
  });

  it('are in the effective checklist of an evaluator that is only a type', () => {
    expect(checkOf(`evaluators: [{ type: deterministic, ${fields} }]`).check).toMatchObject(expected);
  });

  it('are absent from a check that leaves them empty', () => {
    const { check } = checkOf(
      'checklist: [{ name: a, type: deterministic, command: make, shell: , report: }]',
    );
    expect(Object.keys(check ?? {})).toEqual(['name', 'type', 'criterion', 'required', 'command', 'skipped']);
  });

  it('come with the command of a traceability check', () => {
    const methodology = methodologyOf({
      [EDGE_PATH]: edgeFile('checklist: [{ name: tags, type: deterministic, source: traceability }]'),
      'graph/edges/traceability.yml':
        'layer_1: [{ name: tags, type: deterministic, command: tags, timeout_seconds: 5 }]\n',
    });
    expect(methodology.edges.code_unit_tests?.checklist[0]).toMatchObject({
      command: 'tags',
      timeout_seconds: 5,
    });
  });

  it.each([
    [
      'checklist',
      'checklist: [{ name: a, type: agent, timeout_seconds: 5 }]',
      'checklist[0].timeout_seconds',
    ],
    ['evaluators', 'evaluators: [{ type: human, gate: look, shell: true }]', 'evaluators[0].shell'],
  ])('are ignored with a warning on a check without a program, in %s', (_, text, path) => {
    const { check, warnings } = checkOf(text, { profile: 'full' });
    expect(warnings).toMatchObject([{ file: EDGE_PATH, path, line: 2 }]);
    expect(check).not.toHaveProperty(path.split('.')[1] ?? '');
  });

  it.each([
    ['timeout_seconds: soon', 'timeout_seconds'],
    ['timeout_seconds: 90000', 'timeout_seconds'],
    ['shell: bash', 'shell'],
    ['report: { format: xls, path: a }', 'report.format'],
    ['report: { format: lcov }', 'report.path'],
    ['report: { format: lcov, path: a, minimum_percent: 120 }', 'report.minimum_percent'],
    ['report: { format: lcov, path: a, minimum_percent: most }', 'report.minimum_percent'],
  ])('cause a fault with %s, in both lists, and the edge has no checks then', (field, path) => {
    for (const [list, entry] of [
      ['checklist', '{ name: a, type: deterministic, command: make, '],
      ['evaluators', '{ type: deterministic, command: make, '],
    ] as const) {
      const parsed = parse({ [EDGE_PATH]: edgeFile(`${list}: [${entry}${field} }]`) });
      expect(parsed).toMatchObject({
        ok: true,
        faults: [{ file: EDGE_PATH, path: `${list}[0].${path}`, line: 2 }],
      });
      expect(parsed.ok && parsed.methodology.edges).not.toHaveProperty('code_unit_tests');
    }
  });
});

describe('the minimum of a report', () => {
  const withMinimum = (minimum: string, overrides = {}) =>
    checkOf(
      `checklist: [{ name: a, type: deterministic, command: make, report: { format: lcov, path: a, minimum_percent: ${minimum} } }]`,
      overrides,
    ).check;

  it.each([
    ['85', 85],
    ['0', 0],
    ['0.8', 80],
    ['$thresholds.share', 85],
    ['$thresholds.exact', 29],
    ['$thresholds.percent', 90],
    ['$thresholds.sign', 1],
    ['$thresholds.all', 100],
  ])('%s is %d percent', (minimum, percent) => {
    expect(withMinimum(minimum)).toMatchObject({ report: { minimum_percent: percent }, skipped: null });
  });

  it("is the feature's own, if it sets one", () => {
    const check = withMinimum('$thresholds.share', { threshold_overrides: { share: 0.95 } });
    expect(check?.report?.minimum_percent).toBe(95);
  });

  it.each([
    ['$thresholds.missing', '$thresholds.missing is not set in'],
    ['$thresholds.word', '$thresholds.word is most, which is not a number from 0 to 100.'],
    ['$thresholds.much', '$thresholds.much is 101, which is not a number from 0 to 100.'],
  ])('%s cannot be resolved, so the check is skipped', (minimum, message) => {
    const check = withMinimum(minimum);
    expect(check).toMatchObject({ required: true });
    expect(check?.skipped).toContain(message);
  });
});
