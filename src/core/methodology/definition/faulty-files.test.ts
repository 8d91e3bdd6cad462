import { expect, it } from 'vitest';
import { effectiveChecklist } from './checklist.js';
import { judgeConvergence } from './convergence.js';
import type { Feature } from './methodology.js';
import { parseMethodology } from './read-methodology.js';

const FEATURES: readonly (readonly [path: string, text: string])[] = [
  ['features/active/A.yml', 'feature: A\ntitle: a\n'],
  ['features/active/B.yml', 'feature: B\ntitle: b\nprofile: own\n'],
];
const OWN_PROFILE = ['profiles/own.yml', 'graph: {include: all}\n'] as const;

const parse = (...files: readonly (readonly [path: string, text: string])[]) =>
  parseMethodology(new Map([...FEATURES, OWN_PROFILE, ...files]));

function parseValid(...files: readonly (readonly [path: string, text: string])[]) {
  const reading = parse(...files);
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
  return reading;
}

const idsOf = (features: readonly Feature[]) => features.map(({ feature_id }) => feature_id);

it('leaves out a feature whose file has a fault, and reports it once with line and column', () => {
  const { features, faults } = parseValid(['features/active/C.yml', 'feature: C\ntitle: [\n']);
  expect(idsOf(features)).toEqual(['A', 'B']);
  expect(faults).toEqual([
    expect.objectContaining({
      file: 'features/active/C.yml',
      line: expect.any(Number),
      column: expect.any(Number),
    }),
  ]);
  const duplicate = parseValid(['features/active/Z.yml', 'feature: A\ntitle: other\n']);
  expect(duplicate.features.find(({ feature_id }) => feature_id === 'A')?.title).toBe('a');
  expect(duplicate.faults).toMatchObject([{ file: 'features/active/Z.yml' }]);
});

it('leaves out the features with a faulty profile, and does not replace it by the built-in profile of that name', () => {
  const ownProfile = parseValid(['profiles/own.yml', 'graph: [\n']);
  expect(idsOf(ownProfile.features)).toEqual(['A']);
  expect(new Set(ownProfile.faults.map(({ file }) => file))).toEqual(
    new Set(['profiles/own.yml', 'features/active/B.yml']),
  );
  const builtIn = parseValid(
    ['profiles/hotfix.yml', 'graph: [\n'],
    ['features/active/H.yml', 'feature: H\ntitle: h\nprofile: hotfix\n'],
  );
  expect(builtIn.methodology.profiles).not.toHaveProperty('hotfix');
  expect(idsOf(builtIn.features)).toEqual(['A', 'B']);
});

it('an edge whose file has a fault cannot converge by the built-in checks either, but other edges have checks', () => {
  const { methodology, features } = parseValid(['graph/edges/design_code.yml', 'checklist: {\n']);
  const [feature] = features as [Feature];
  const allPass = (edge: string) => {
    const checks = effectiveChecklist(methodology, feature, edge);
    return judgeConvergence(
      checks,
      checks.map(({ name }) => ({ name, result: 'pass' as const })),
    );
  };
  expect(allPass('design_code').delta).toBeGreaterThan(0);
  expect(effectiveChecklist(methodology, feature, 'code_unit_tests')).not.toEqual([]);
});

it.each([
  ['graph/graph_topology.yml', 'transitions: [\n'],
  ['agent_roles.yml', 'agent_roles: [\n'],
  ['coordination.yml', 'mode: [\n'],
  ['context/project_constraints.yml', 'project: [\n'],
  ['graph/modules.yml', 'modules: [\n'],
  ['graph/edges/some_file.yml', 'edge: [\n'],
  ['profiles/standard.yml', 'graph: [\n'],
])('refuses the whole configuration if %s has a fault', (file, text) => {
  expect(parse([file, text])).toMatchObject({ ok: false, faults: [{ file, line: expect.any(Number) }] });
});
