import { expect, it } from 'vitest';
import { buildFeature } from '../testing.js';
import type { Feature } from './methodology.js';
import { parseMethodology } from './read-methodology.js';
import { serializeFeature } from './serialize-feature.js';

const PLAIN = buildFeature({
  feature_id: 'REQ-F-CART-001',
  title: 'Cart: "several" shoes\nat once',
  requirements: ['REQ-F-CART-001'],
});
const FULL: Feature = {
  ...PLAIN,
  feature_id: 'REQ-F-SPIKE-001',
  intent: 'INT-042',
  vector_type: 'spike',
  profile: 'spike',
  priority: 'critical',
  created: '2026-02-23T10:30:00.000Z',
  time_box: {
    duration_seconds: 7 * 24 * 3600 + 1,
    check_in_seconds: 86_400,
    on_expiry: 'fold_back',
    started: '2026-02-23T10:30:00.000Z',
  },
  parent: { feature: 'REQ-F-CART-001', edge: 'design_code', reason: 'is it fast enough?' },
  dependencies: [{ feature: 'REQ-F-CART-001', asset: 'design' }],
  requirements: ['REQ-F-SPIKE-001', 'REQ-NFR-SPEED-001'],
  acceptance_criteria: [
    { id: 'AC-1', description: 'fast', evaluator: 'deterministic', check: 'make bench', required: true },
  ],
  threshold_overrides: { test_coverage_minimum: 0.9 },
  additional_checks: [
    { name: 'measured', type: 'agent', criterion: 'it was measured', required: false, source: 'feature' },
  ],
};

it('serializes features that parse back unchanged', () => {
  const files = new Map(
    [PLAIN, FULL].map((feature) => [`features/active/${feature.feature_id}.yml`, serializeFeature(feature)]),
  );
  const reading = parseMethodology(files);
  expect(reading.ok && reading.warnings).toEqual([]);
  expect(reading.ok && reading.features).toEqual([PLAIN, FULL]);
});
