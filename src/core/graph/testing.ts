import type { FeatureVector, Methodology, MethodologyReading } from './methodology.js';
import { readMethodology } from './read-methodology.js';

export type Reading = MethodologyReading & { ok: true };

/** Reads files that are as they should be. */
export function readingOf(files: Readonly<Record<string, string>> = {}): Reading {
  const reading = readMethodology(new Map(Object.entries(files)));
  if (!reading.ok) throw new Error(`cannot be read: ${JSON.stringify(reading.faults, null, 2)}`);
  return reading;
}

export const methodologyOf = (files: Readonly<Record<string, string>> = {}): Methodology =>
  readingOf(files).methodology;

export const aFeature = (said: Partial<FeatureVector> = {}): FeatureVector => ({
  feature_id: 'REQ-F-SHOP-001',
  title: 'A basket',
  intent: null,
  vector_type: 'feature',
  profile: 'standard',
  priority: 'medium',
  created: null,
  time_box: null,
  parent: null,
  dependencies: [],
  requirements: ['REQ-F-SHOP-001'],
  acceptance_criteria: [],
  threshold_overrides: {},
  additional_checks: [],
  ...said,
});
