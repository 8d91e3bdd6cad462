import { describe, expect, it } from 'vitest';
import { methodologyOf } from '../testing.js';
import type { Profile, Transition } from './methodology.js';
import { profileEdges, profileOf } from './profile.js';
import { orderTransitions } from './read/topology.js';

const { profiles, topology } = methodologyOf();
const edgesOnPath = (profile: Profile | undefined, graph = topology) =>
  profileEdges(profile as Profile, graph).map(({ edge, optional }) => (optional ? `${edge}?` : edge));

const step = (
  source: string,
  target: string,
  edge_type: Transition['edge_type'] = 'standard',
): Transition => ({
  edge: `${source}_${target}`,
  name: '',
  source,
  target,
  edge_type,
  evaluators: [],
});

describe('the edges of a profile', () => {
  it('are in the order of work, including optional ones', () => {
    expect(edgesOnPath(profiles.standard)).toEqual([
      'intent_requirements',
      'requirements_design',
      'design_code',
      'code_unit_tests',
      'design_test_cases?',
      'design_uat_tests?',
      'code_cicd?',
    ]);
    expect(edgesOnPath(profiles.hotfix)).toEqual(['intent_requirements', 'design_code', 'code_unit_tests']);
    expect(edgesOnPath(profiles.minimal)).toEqual(['intent_requirements', 'design_code']);
  });

  it('are all edges in the full profile, the feedback edge last', () => {
    expect(edgesOnPath(profiles.full)).toHaveLength(10);
    expect(edgesOnPath(profiles.full).at(-1)).toBe('telemetry_intent');
  });

  it('exclude the skipped ones', () => {
    const profile = { ...(profiles.full as Profile), skip: ['code_cicd'], optional: ['design_uat_tests'] };
    expect(edgesOnPath(profile)).not.toContain('code_cicd');
    expect(edgesOnPath(profile)).toContain('design_uat_tests?');
  });

  it('include a co-evolution once for both directions', () => {
    const both = {
      ...topology,
      transitions: [step('a', 'b', 'co_evolution'), step('b', 'a', 'co_evolution')],
    };
    expect(edgesOnPath(profiles.full, both)).toEqual(['a_b']);
  });
});

it('orders feedback edges last, wherever they are in the file', () => {
  const order = orderTransitions([
    step('a', 'b'),
    step('b', 'a'),
    step('b', 'c'),
    step('c', 'c'),
    step('c', 'd'),
  ]);
  expect(order.map(({ edge }) => edge)).toEqual(['a_b', 'b_c', 'c_d', 'b_a', 'c_c']);
});

it('uses the default profile if the profile of a feature does not exist', () => {
  expect(profileOf(methodologyOf(), { profile: 'gone' }).name).toBe('standard');
  expect(profileOf(methodologyOf(), { profile: 'spike' }).name).toBe('spike');
});
