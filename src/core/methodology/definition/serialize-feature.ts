import type { FeatureVector } from './methodology.js';

/** Serialises a vector as a file that parses back to the same vector. JSON is valid YAML and needs no further escaping. */
export function serializeFeature(vector: FeatureVector): string {
  const { feature_id: feature, time_box, ...fields } = vector;
  const { acceptance_criteria, threshold_overrides, additional_checks, ...otherFields } = fields;
  const constraints = { acceptance_criteria, threshold_overrides, additional_checks };
  const file = { feature, ...otherFields, time_box: time_box && timeBoxFields(time_box), constraints };
  return `${JSON.stringify(file, null, 2)}\n`;
}

function timeBoxFields(timeBox: NonNullable<FeatureVector['time_box']>) {
  const { duration_seconds, check_in_seconds, on_expiry, started } = timeBox;
  return {
    enabled: true,
    duration: `${duration_seconds}s`,
    check_in: check_in_seconds && `${check_in_seconds}s`,
    on_expiry,
    started,
  };
}
