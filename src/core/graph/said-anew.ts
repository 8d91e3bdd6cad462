import { sameValue } from '../claims/invariants/same.js';
import { allSteps, type Steps } from '../steps.js';
import type { FeatureVector, Methodology } from './methodology.js';

/** What a project's files say, as they were read. */
export interface Said {
  readonly methodology: Methodology;
  readonly features: readonly FeatureVector[];
}

/** What the records of the project say. */
export interface Known {
  readonly methodology: Methodology | null;
  feature(feature_id: string): FeatureVector | null;
}

/** Whether the files say another methodology than the records. */
export const isNewMethodology = (said: Methodology, known: Known): boolean =>
  known.methodology === null || !sameValue(known.methodology, said);

export const isNewFeature = (said: FeatureVector, known: Known): boolean =>
  !sameValue(known.feature(said.feature_id), said);

const FEATURES_PER_STEP = 20;

/**
 * The features that the files say otherwise than the records. One that is no longer among the files is not asked after:
 * work may have been done on it, so it stays.
 */
export function* changedFeatures(said: readonly FeatureVector[], known: Known): Steps<FeatureVector[]> {
  const changed: FeatureVector[] = [];
  for (const [at, vector] of said.entries()) {
    if (isNewFeature(vector, known)) changed.push(vector);
    if (at % FEATURES_PER_STEP === 0) yield;
  }
  return changed;
}

/** What the files say and the records do not. */
export function saidAnew(said: Said, known: Known): { methodology: boolean; features: FeatureVector[] } {
  const features = allSteps(changedFeatures(said.features.map(plain), known));
  return { methodology: isNewMethodology(plain(said.methodology), known), features };
}

/** As a store gives it back: what is undefined is not there. */
export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
