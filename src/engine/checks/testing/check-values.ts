import type { EffectiveCheck } from '../../../core/contract/checks.js';
import type { CheckLimits } from '../check-execution.js';

export const TEST_LIMITS: CheckLimits = {
  timeout_ms: 60_000,
  memory_bytes: 1024 ** 3,
  disk_bytes: 32 * 1024 ** 2,
  output_bytes: 16 * 1024,
  processes: 100,
};

/** A deterministic check that runs a shell line, or what the overrides say. */
export const shellCheck = (line: string, overrides: Partial<EffectiveCheck> = {}): EffectiveCheck => ({
  name: 'tests_pass',
  type: 'deterministic',
  criterion: 'The tests pass',
  required: true,
  command: line,
  shell: true,
  skipped: null,
  ...overrides,
});
