import { describe, expect, it } from 'vitest';
import type { Transition } from '../definition/methodology.js';
import { testMethodology } from '../testing/project.js';
import { edgePathOf } from './edge-path.js';

const { topology, profiles } = testMethodology();
const needsIn = (name: string) => {
  const profile = profiles[name];
  if (profile === undefined) throw new Error(name);
  return Object.fromEntries(edgePathOf(profile, topology).map(({ edge, needs }) => [edge, needs]));
};

describe('the edge path of a profile', () => {
  it('makes each edge depend on the producer of its source, and the first edge on nothing', () => {
    expect(needsIn('full')).toMatchObject({
      intent_requirements: [],
      design_uat_tests: ['requirements_design'],
      telemetry_intent: ['running_system_telemetry'],
    });
  });

  it('spans edges that the profile skips', () => {
    expect(needsIn('hotfix')).toEqual({
      intent_requirements: [],
      design_code: ['intent_requirements'],
      code_unit_tests: ['design_code'],
    });
  });

  it('is found in a topology with many parallel paths', () => {
    const transitionsAt = (depth: number): Transition[] =>
      ['a', 'b', 'c'].map((name) => ({
        edge: `${name}_${depth}`,
        name,
        source: `s${depth}`,
        target: `s${depth + 1}`,
        edge_type: 'standard',
        evaluators: [],
      }));
    const transitions = Array.from({ length: 60 }, (_, index) => transitionsAt(index)).flat();
    const endsOnly = { ...profiles.standard, include: ['a_0', 'a_59'], optional: [], skip: [] } as never;
    expect(edgePathOf(endsOnly, { ...topology, transitions })[1]?.needs).toEqual(['a_0']);
  });
});
