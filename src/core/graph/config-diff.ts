import { isJsonEqual } from '../claims/invariants/json-equal.js';
import { runAllSteps, type StepGenerator } from '../steps.js';
import type { FeatureVector, Methodology } from './methodology.js';

/** What a project's files say, as they were read. */
export interface WorkspaceConfig {
  readonly methodology: Methodology;
  readonly features: readonly FeatureVector[];
}

/** What the records of the project say. */
export interface RecordedConfig {
  readonly methodology: Methodology | null;
  feature(featureId: string): FeatureVector | null;
}

/** Whether the files say another methodology than the records. */
export const hasMethodologyChanged = (methodology: Methodology, recorded: RecordedConfig): boolean =>
  recorded.methodology === null || !isJsonEqual(recorded.methodology, methodology);

export const hasFeatureChanged = (feature: FeatureVector, recorded: RecordedConfig): boolean =>
  !isJsonEqual(recorded.feature(feature.feature_id), feature);

const FEATURES_PER_STEP = 20;

/**
 * The features that the files say otherwise than the records. One that is no longer among the files is not asked after:
 * work may have been done on it, so it stays.
 */
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

/** What the files say and the records do not. */
export function diffConfig(
  config: WorkspaceConfig,
  recorded: RecordedConfig,
): { methodology: boolean; features: FeatureVector[] } {
  const features = runAllSteps(changedFeatures(config.features.map(toPlainJson), recorded));
  return { methodology: hasMethodologyChanged(toPlainJson(config.methodology), recorded), features };
}

/** As a store gives it back: what is undefined is not there. */
export const toPlainJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
