import type { Feature } from './methodology.js';

/** Serialises a feature as a file that parses back to the same feature. JSON is valid YAML and needs no further escaping. */
export function serializeFeature({ feature_id, time_box, ...fields }: Feature): string {
  const { acceptance_criteria, threshold_overrides, additional_checks, ...otherFields } = fields;
  const constraints = { acceptance_criteria, threshold_overrides, additional_checks };
  const file = {
    feature: feature_id,
    ...otherFields,
    time_box: time_box && timeBoxFields(time_box),
    constraints,
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

function timeBoxFields(timeBox: NonNullable<Feature['time_box']>) {
  const { duration_seconds, check_in_seconds, on_expiry, started } = timeBox;
  return {
    enabled: true,
    duration: `${duration_seconds}s`,
    check_in: check_in_seconds && `${check_in_seconds}s`,
    on_expiry,
    started,
  };
}
