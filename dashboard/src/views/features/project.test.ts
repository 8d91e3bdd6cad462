import { expect, test } from 'vitest';
import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { projectTime } from './project-time.js';
import { type SpawnNode, spawnForest } from './spawn-forest.js';

type Feature = MethodologyStatus['features'][number];

const featureWith = (feature_id: string, more: Partial<Feature> = {}) =>
  ({ feature_id, you_are_here: [], parent: null, children: [], ...more }) as unknown as Feature;
const spawnedBy = (parent: string) => ({ parent: { feature: parent, edge: null, reason: 'why' } });
const featureNames = (nodes: readonly SpawnNode[]): unknown[] =>
  nodes.map((node) => [node.feature.feature_id, node.foldedBack, ...featureNames(node.children)]);

test('the forest has each parent with its spawned features, and leaves out features without parent and children', () => {
  const folded = { feature: 'b', vector_type: 'spike', edge: null, payload_path: null };
  const a = featureWith('a', { children: [{ ...folded, folded_back: 'converged' }] });
  const forest = spawnForest([
    a,
    featureWith('b', spawnedBy('a')),
    featureWith('c', spawnedBy('b')),
    featureWith('d'),
  ]);
  expect(featureNames(forest)).toEqual([['a', null, ['b', 'converged', ['c', null]]]]);
});

test('features whose parents form a circle are left out', () => {
  expect(spawnForest([featureWith('a', spawnedBy('b')), featureWith('b', spawnedBy('a'))])).toEqual([]);
});

test('all features share one scale, the earliest first', () => {
  const isoAt = (seconds: number) => new Date(seconds * 1000).toISOString();
  const workedFromTo = (from: number | null, to: number | null) => ({
    you_are_here: [
      {
        edge: 'e',
        started_at: from === null ? null : isoAt(from),
        converged_at: to === null ? null : isoAt(to),
      },
    ] as unknown as Feature['you_are_here'],
  });
  const features = [
    featureWith('late', workedFromTo(50, null)),
    featureWith('early', workedFromTo(0, 50)),
    featureWith('none', workedFromTo(null, null)),
  ];
  const { from, rows } = projectTime(features, 100_000);
  expect(from).toBe(isoAt(0));
  expect(rows.map(({ feature: one, bars }) => [one.feature_id, bars[0]?.left, bars[0]?.width])).toEqual([
    ['early', 0, 0.5],
    ['late', 0.5, 0.5],
  ]);
  expect(projectTime([], 0)).toEqual({ from: null, rows: [] });
});
