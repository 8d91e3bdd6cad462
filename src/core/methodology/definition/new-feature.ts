import type { Feature } from './methodology.js';

type FeatureIdentity = Pick<Feature, 'feature_id' | 'title' | 'profile'>;

/** A feature with these fields. The others are empty; the default priority is medium. */
export const newFeature = (fields: FeatureIdentity & Partial<Feature>): Feature => ({
  intent: null,
  vector_type: 'feature',
  priority: 'medium',
  created: null,
  time_box: null,
  parent: null,
  dependencies: [],
  requirements: [],
  acceptance_criteria: [],
  threshold_overrides: {},
  additional_checks: [],
  ...fields,
});
