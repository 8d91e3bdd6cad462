import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';

type Feature = MethodologyStatus['features'][number];

export interface SpawnNode {
  readonly feature: Feature;
  /** How its result came back to the parent; null if it has not. */
  readonly foldedBack: Feature['children'][number]['folded_back'];
  readonly children: readonly SpawnNode[];
}

/** The features that spawned others, each with the spawned features below it. Features without parent and children are left out. */
export function spawnForest(features: readonly Feature[]): readonly SpawnNode[] {
  const byId = new Map(features.map((feature) => [feature.feature_id, feature]));
  const parentOf = ({ parent }: Feature): Feature | undefined => byId.get(parent?.feature ?? '');
  const nodeOf = (feature: Feature, above: ReadonlySet<string>): SpawnNode => {
    // Files may name parents in a circle.
    const path = new Set([...above, feature.feature_id]);
    const children = features.filter((child) => parentOf(child) === feature && !path.has(child.feature_id));
    const entry = parentOf(feature)?.children.find((child) => child.feature === feature.feature_id);
    return {
      feature,
      foldedBack: entry?.folded_back ?? null,
      children: children.map((child) => nodeOf(child, path)),
    };
  };
  return features
    .filter((feature) => parentOf(feature) === undefined)
    .map((feature) => nodeOf(feature, new Set()))
    .filter(({ children }) => children.length > 0);
}
