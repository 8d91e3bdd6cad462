import { sameValue } from '../claims/invariants/same.js';
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

/**
 * What the files say and the records do not. A feature that is no longer among the files is not asked after: work may
 * have been done on it, so it stays.
 */
export function saidAnew(said: Said, known: Known): { methodology: boolean; features: FeatureVector[] } {
  const methodology = known.methodology === null || !sameValue(known.methodology, plain(said.methodology));
  const features = said.features
    .map(plain)
    .filter((vector) => !sameValue(known.feature(vector.feature_id), vector));
  return { methodology, features };
}

/** As a store gives it back: what is undefined is not there. */
export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
