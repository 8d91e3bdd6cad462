import { isJsonEqual } from '../../json-equal.js';
import { runAllSteps, type StepGenerator } from '../../steps.js';
import type { FeatureVector, Methodology } from './methodology.js';

export interface RecordedConfig {
  readonly methodology: Methodology | null;
  feature(featureId: string): FeatureVector | null;
}

export const hasMethodologyChanged = (methodology: Methodology, recorded: RecordedConfig): boolean =>
  recorded.methodology === null || !isJsonEqual(recorded.methodology, methodology);

export const hasFeatureChanged = (feature: FeatureVector, recorded: RecordedConfig): boolean =>
  !isJsonEqual(recorded.feature(feature.feature_id), feature);

const FEATURES_PER_STEP = 20;

/** Features whose files differ from their records. A feature without a file is ignored: it may have work, so it stays. */
export function* changedFeatures(
  features: readonly FeatureVector[],
  recorded: RecordedConfig,
): StepGenerator<FeatureVector[]> {
  const changed: FeatureVector[] = [];
  for (const [at, vector] of features.entries()) {
    if (hasFeatureChanged(vector, recorded)) changed.push(vector);
    if (at % FEATURES_PER_STEP === 0) yield;
  }
  return changed;
}

export function diffConfig(
  config: { readonly methodology: Methodology; readonly features: readonly FeatureVector[] },
  recorded: RecordedConfig,
): { methodology: boolean; features: FeatureVector[] } {
  const features = runAllSteps(changedFeatures(config.features.map(toPlainJson), recorded));
  return { methodology: hasMethodologyChanged(toPlainJson(config.methodology), recorded), features };
}

/** The value as a store returns it: without undefined fields. */
export const toPlainJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
