import type { FeatureVector } from './methodology.js';

/** Serialises a vector as a file that parses back to the same vector. JSON is valid YAML and needs no further escaping. */
export function serializeFeature(vector: FeatureVector): string {
  const {
    feature_id,
    time_box,
    acceptance_criteria,
    threshold_overrides,
    additional_checks,
    ...otherFields
  } = vector;
  const file = {
    feature: feature_id,
    ...otherFields,
    time_box: time_box === null ? null : timeBoxFields(time_box),
    constraints: { acceptance_criteria, threshold_overrides, additional_checks },
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

function timeBoxFields({ duration_seconds, check_in_seconds, on_expiry, started }: TimeBox) {
  return {
    enabled: true,
    duration: `${duration_seconds}s`,
    check_in: check_in_seconds === null ? null : `${check_in_seconds}s`,
    on_expiry,
    started,
  };
}

type TimeBox = NonNullable<FeatureVector['time_box']>;
