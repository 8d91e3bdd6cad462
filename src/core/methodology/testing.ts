import type { Feature, Methodology, ParsedMethodology } from './definition/methodology.js';
import { newFeature } from './definition/new-feature.js';
import { parseMethodology } from './definition/read-methodology.js';

type ValidMethodology = ParsedMethodology & { ok: true };

/** Parses files that must be valid. */
export function parseValidMethodology(files: Readonly<Record<string, string>> = {}): ValidMethodology {
  const parsed = parseMethodology(new Map(Object.entries(files)));
  if (!parsed.ok) throw new Error(`The test files have faults: ${JSON.stringify(parsed.faults, null, 2)}`);
  return parsed;
}

export const methodologyOf = (files: Readonly<Record<string, string>> = {}): Methodology =>
  parseValidMethodology(files).methodology;

export const buildFeature = (overrides: Partial<Feature> = {}): Feature =>
  newFeature({
    feature_id: 'REQ-F-SHOP-001',
    title: 'A basket',
    profile: 'standard',
    requirements: ['REQ-F-SHOP-001'],
    ...overrides,
  });
