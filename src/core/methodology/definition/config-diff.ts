import { isJsonEqual } from '../../json-equal.js';
import { runAtOnce, type SliceableWork } from '../../sliceable-work.js';
import type { Feature, Methodology } from './methodology.js';

export interface RecordedConfig {
  readonly methodology: Methodology | null;
  feature(featureId: string): Feature | null;
}

export const hasMethodologyChanged = (methodology: Methodology, recorded: RecordedConfig): boolean =>
  recorded.methodology === null || !isJsonEqual(recorded.methodology, methodology);

export const hasFeatureChanged = (feature: Feature, recorded: RecordedConfig): boolean =>
  !isJsonEqual(recorded.feature(feature.feature_id), feature);

const FEATURES_BETWEEN_PAUSES = 20;

/** Features whose files differ from their records. A recorded feature without a file is no change: it may have work. */
export function* changedFeatures(
  features: readonly Feature[],
  recorded: RecordedConfig,
): SliceableWork<Feature[]> {
  const changed: Feature[] = [];
  for (const [index, feature] of features.entries()) {
    if (hasFeatureChanged(feature, recorded)) changed.push(feature);
    if (index % FEATURES_BETWEEN_PAUSES === 0) yield;
  }
  return changed;
}

export function diffConfig(
  config: { readonly methodology: Methodology; readonly features: readonly Feature[] },
  recorded: RecordedConfig,
): { methodology: boolean; features: Feature[] } {
  const features = runAtOnce(changedFeatures(config.features.map(toPlainJson), recorded));
  return { methodology: hasMethodologyChanged(toPlainJson(config.methodology), recorded), features };
}

/** The value as a store returns it: without undefined fields. */
export const toPlainJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
