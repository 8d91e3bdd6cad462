import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CoordinatorHarness, PROJECT_KEY, unwrap } from '../../../test/support/coordinator-harness.js';
import { featureFile } from '../../../test/support/workspace-files.js';
import { type CheckOutcome, NO_COST } from '../../core/engine/check-outcome.js';
import { CHECKS_PER_EDGE_MAX, OUTCOME_BYTES_MAX, shortOutcome } from '../../core/engine/short-outcome.js';
import { buildCheck, buildEdgePlan } from '../../core/engine/testing.js';
import { executeRun } from '../runs/execute-run.js';
import { instantHost, scriptedServices } from '../testing/engine-harness.js';

const FEATURE = 'REQ-F-A';
const SHA256 = 'f'.repeat(64);

/** The largest outcome that the schema allows, with texts that repeat `unit`. */
const maximalOutcome = (unit: string): CheckOutcome => ({
  name: unit.repeat(256 / unit.length),
  type: 'deterministic',
  required: false,
  result: 'pending',
  says: unit.repeat(2000 / unit.length),
  command_sha256: SHA256,
  exit_code: -(2 ** 31),
  signal: 'S'.repeat(32),
  duration_ms: Number.MAX_SAFE_INTEGER,
  report: {
    format: 'cobertura',
    sha256: SHA256,
    passed: Number.MAX_SAFE_INTEGER,
    failed: Number.MAX_SAFE_INTEGER,
    skipped: Number.MAX_SAFE_INTEGER,
    coverage_percent: 33.333333333333336,
  },
  output_sha256: SHA256,
  issues: Array.from({ length: 100 }, () => ({
    criterion: unit.repeat(1000 / unit.length),
    score: 0.1,
    says: unit.repeat(2000 / unit.length),
  })),
  cost: {
    input_tokens: Number.MAX_SAFE_INTEGER,
    output_tokens: Number.MAX_SAFE_INTEGER,
    usd: 0.1234567890123456,
    seconds: 123456.78901234567,
  },
});

test('an outcome of any size is shortened to fit into the data of a run', () => {
  const units = fc.constantFrom('x', '\u0000', '"', '→', '😀', '\ud800');
  fc.assert(
    fc.property(units, fc.integer({ min: 0, max: 2000 }), (unit, length) => {
      const whole = maximalOutcome(unit);
      const outcome = { ...whole, says: whole.says.slice(0, length) };
      const short = shortOutcome(outcome) ?? outcome;
      const passedOn = { ...short, blocks: false, outcome_sha256: SHA256 };
      expect(Buffer.byteLength(JSON.stringify(passedOn))).toBeLessThanOrEqual(OUTCOME_BYTES_MAX);
    }),
  );
});

// req: ITR-016
test('with the maximum number of checks, the data of a run stays within its limit, and the findings have the whole outcomes', async () => {
  const names = Array.from({ length: CHECKS_PER_EDGE_MAX }, (_, at) => `check_${at}`);
  const harness = await CoordinatorHarness.open('memory');
  const checklist = names.map((name) => ({
    ...{ name, type: 'deterministic', criterion: name, required: false, command: 'make' },
  }));
  const files = {
    'graph/edges/design_code.yml': JSON.stringify({ edge: 'design→code', checklist }),
    [`features/active/${FEATURE}.yml`]: featureFile(FEATURE),
  };
  unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
  const checks = names.map((name) => buildCheck(name, 'deterministic', { required: false }));
  const plan = buildEdgePlan({ feature_id: FEATURE, edge: 'design_code', checks });
  const { coordinator, store, blobs, environment } = harness;
  const services = scriptedServices(
    { coordinator, store, blobs, environment, key: PROJECT_KEY },
    { plan, candidate: () => 'right', passes: () => true },
  );
  const findings: string[] = [];
  const largest = {
    ...services,
    runCheck: async (run: Parameters<typeof services.runCheck>[0]) => {
      const { outcome, ...outputs } = await services.runCheck(run);
      return {
        ...outputs,
        outcome: { ...maximalOutcome('→'), ...outcome, says: '→'.repeat(2000), cost: NO_COST },
      };
    },
    blobs: {
      ...services.blobs,
      put: (bytes: Uint8Array) => {
        const text = Buffer.from(bytes).toString();
        if (text.startsWith('{"iteration"')) findings.push(text);
        return services.blobs.put(bytes);
      },
    },
  };
  const request = { ...PROJECT_KEY, feature_id: FEATURE, edge: 'design_code', agent_role: 'full_stack' };
  const end = await executeRun(request, largest, instantHost(), new AbortController().signal);
  expect(end).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED', iterations: 1 } });
  expect(JSON.parse(findings[0] as string).outcomes[0]).toMatchObject({
    says: '→'.repeat(2000),
    issues: { length: 100 },
  });
});
