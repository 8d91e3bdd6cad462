import { expect, test } from 'vitest';
import { type CoverageScan, findGaps, hasNoGaps } from './gaps.js';

const keyCoverage = (name: string, code = 1, tests = 1, telemetry = 1) => ({
  key: name,
  code,
  tests,
  telemetry,
});
const scan = (keys: CoverageScan['keys'], fields: Partial<CoverageScan> = {}): CoverageScan => ({
  layers_run: [1, 2, 3],
  keys,
  orphan_keys: [],
  untagged_files: 0,
  ...fields,
});

test('counts a key as covered fully, partly or not at all by the layers that were run', () => {
  const keys = [
    keyCoverage('REQ-F-AUTH-001'),
    keyCoverage('REQ-F-AUTH-002', 1, 0, 0),
    keyCoverage('REQ-F-PAY-001', 0, 0, 0),
  ];
  expect(findGaps(scan(keys))).toMatchObject({
    total_req_keys: 3,
    full_coverage: 1,
    partial_coverage: 1,
    no_coverage: 1,
    test_gaps: 2,
    telemetry_gaps: 2,
    layer_results: { layer_1: 'fail', layer_2: 'fail', layer_3: 'fail' },
  });
  const firstLayer = findGaps(scan(keys, { layers_run: [1] }));
  expect(firstLayer).toMatchObject({
    full_coverage: 2,
    no_coverage: 1,
    test_gaps: 0,
    layer_results: { layer_1: 'fail' },
  });
  expect(Object.keys(firstLayer.layer_results)).toEqual(['layer_1']);
});

test('clusters gaps by domain, with missing code or tests above missing telemetry', () => {
  const keys = [
    keyCoverage('REQ-F-AUTH-002', 1, 0, 1),
    keyCoverage('REQ-AUTH-001', 0, 1, 1),
    keyCoverage('REQ-NFR-PERF-001', 1, 1, 0),
  ];
  expect(findGaps(scan(keys)).clusters).toEqual([
    { domain: 'AUTH', severity: 'high', keys: ['REQ-AUTH-001', 'REQ-F-AUTH-002'], layers: ['code', 'tests'] },
    { domain: 'PERF', severity: 'medium', keys: ['REQ-NFR-PERF-001'], layers: ['telemetry'] },
  ]);
});

test('reports no gaps only without missing keys, orphan keys and untagged files', () => {
  const keys = [keyCoverage('REQ-F-AUTH-001')];
  expect(hasNoGaps(findGaps(scan(keys)))).toBe(true);
  expect(hasNoGaps(findGaps(scan(keys, { orphan_keys: ['REQ-F-OLD-001'] })))).toBe(false);
  expect(hasNoGaps(findGaps(scan(keys, { untagged_files: 1 })))).toBe(false);
  expect(hasNoGaps(findGaps(scan(keys, { untagged_files: 1, layers_run: [2] })))).toBe(true);
});

test('counts a repeated key once, and makes at most twenty clusters without losing a key', () => {
  expect(findGaps(scan([keyCoverage('REQ-A-1', 0), keyCoverage('REQ-A-1', 0)])).total_req_keys).toBe(1);
  const keys = Array.from({ length: 500 }, (_, index) => keyCoverage(`REQ-F-D${index}-001`, 0));
  const { clusters } = findGaps(scan(keys));
  expect(clusters).toHaveLength(20);
  expect(clusters.flatMap((cluster) => cluster.keys)).toHaveLength(500);
});
