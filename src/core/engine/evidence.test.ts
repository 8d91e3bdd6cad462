import { describe, expect, test } from 'vitest';
import type { EffectiveCheck } from '../contract/checks.js';
import type { CheckOutcome } from './check-outcome.js';
import {
  type CandidateRecord,
  type EvidenceFacts,
  type EvidenceStatement,
  evidenceText,
  RUNNERS_MAX,
  type RunnerRecord,
  type Runners,
  STATEMENTS_MAX,
  verifiedOutcomes,
  withEvidence,
  withRunner,
} from './evidence.js';

const digest = (char: string): string => char.repeat(64);
const runnerId = (at: number): string => `rnr_${String(at).padStart(24, '0')}`;
const AT = '2026-01-04T06:00:00.000Z';
const CHECK: EffectiveCheck = {
  ...{ name: 'tests_pass', type: 'deterministic', criterion: '', required: true },
  ...{ command: 'npm test', skipped: null },
};
const outcomeWith = (more: Partial<CheckOutcome> = {}): CheckOutcome => ({
  ...{ name: 'tests_pass', type: 'deterministic', required: true, result: 'pass', says: '' },
  ...{ command_sha256: digest('c'), check_sha256: digest('d'), exit_code: 0, signal: null, duration_ms: 1 },
  ...{ report: null, output_sha256: null, ...more },
});
const { check_sha256: _, ...OLD_OUTCOME } = outcomeWith();
const signedStatement = (fields: Partial<EvidenceStatement> = {}) => ({
  signature: 's'.repeat(86),
  statement: {
    ...{ version: 1, tenant_id: 'acme', project_id: 'shop', task_id: 'F#tdd', generation: 3 },
    ...{ candidate_sha256: digest('a'), base: { kind: 'tree', sha256: digest('b') }, base_version: 7 },
    ...{ runner_id: runnerId(1), started_at: AT, ended_at: AT, checks: [outcomeWith()], ...fields },
  } as EvidenceStatement,
});
const runnerWith = (more: Partial<RunnerRecord> = {}): RunnerRecord => ({
  ...{ state: 'enrolled', public_key: 'k', label: null, enrolled_by: 'ada', enrolled_at: AT },
  ...{ revoked_at: null, ...more },
});
const FACTS: EvidenceFacts = {
  generation: 3,
  candidate_sha256: digest('a'),
  is_proposed: true,
  base_version: 7,
  runners: { [runnerId(1)]: runnerWith(), [runnerId(2)]: runnerWith() },
  checkDigest: () => digest('d'),
};
const verdictOf = (evidence: ReturnType<typeof signedStatement>[], facts: Partial<EvidenceFacts> = {}) => {
  const { outcomes, notPassedTexts } = verifiedOutcomes([CHECK], evidence, { ...FACTS, ...facts });
  return { result: outcomes[0]?.result ?? null, reason: notPassedTexts.get('tests_pass') ?? null };
};

describe('evidence', () => {
  test('counts if an enrolled runner names this generation, candidate, base and command', () => {
    expect(verdictOf([signedStatement()])).toEqual({ result: 'pass', reason: null });
  });

  test.each<[string, Partial<EvidenceStatement>, RegExp]>([
    ['of an older generation', { generation: 2 }, /of generation 2, but the current one is 3/],
    [
      'of another candidate',
      { candidate_sha256: digest('e') },
      /of the candidate e{12}, but the current one is a{12}/,
    ],
    ['of an earlier base', { base_version: 6 }, /The base has moved/],
    ['of an unknown runner', { runner_id: runnerId(9) }, /which is not enrolled/],
    ['silent about the check', { checks: [] }, /does not contain this check/],
    [
      'of a check of another type',
      { checks: [outcomeWith({ type: 'agent' })] },
      /does not contain this check/,
    ],
    ['of another check', { checks: [outcomeWith({ check_sha256: digest('e') })] }, /another command, report/],
    ['of an older version, without the report', { checks: [OLD_OUTCOME] }, /another command, report/],
    ['of no command', { checks: [{ ...OLD_OUTCOME, command_sha256: null }] }, /another command/],
  ])('does not count if it is %s', (_, fields, reason) => {
    expect(verdictOf([signedStatement(fields)])).toEqual({
      result: null,
      reason: expect.stringMatching(reason),
    });
  });

  test('does not count if its runner is revoked', () => {
    const runners = { [runnerId(1)]: runnerWith({ state: 'revoked', revoked_at: AT }) };
    expect(verdictOf([signedStatement()], { runners })).toEqual({
      result: null,
      reason: expect.stringMatching(/revoked/),
    });
  });

  test('counts with the result that the runner recorded', () => {
    const failed = outcomeWith({ result: 'fail', says: '2 failed', exit_code: 1 });
    expect(verdictOf([signedStatement({ checks: [failed] })])).toEqual({
      result: 'fail',
      reason: 'A runner ran the check: fail. 2 failed',
    });
    const notStarted = outcomeWith({ result: 'error', command_sha256: null });
    expect(verdictOf([signedStatement({ checks: [notStarted] })])).toMatchObject({ result: 'error' });
  });

  test('of several runners is decided by the last statement that counts', () => {
    const failed = signedStatement({ runner_id: runnerId(2), checks: [outcomeWith({ result: 'fail' })] });
    expect(verdictOf([signedStatement(), failed]).result).toBe('fail');
    expect(verdictOf([failed, signedStatement()]).result).toBe('pass');
    const stale = signedStatement({ runner_id: runnerId(2), base_version: 6 });
    expect(verdictOf([signedStatement(), stale]).result).toBe('pass');
  });

  test('that is missing is reported with its reason', () => {
    expect(verdictOf([]).reason).toMatch(/^Proposed as a{12}; waiting for a runner \(gen runner run\)\.$/);
    expect(verdictOf([], { runners: {} }).reason).toMatch(/no runner is enrolled.*gen runner enrol/);
    const runners = { [runnerId(1)]: runnerWith({ state: 'revoked' }) };
    expect(verdictOf([], { runners }).reason).toMatch(/no runner is enrolled/);
  });

  test('counts for deterministic checks only', () => {
    const agent = { ...CHECK, name: 'reads_well', type: 'agent' } as const;
    const { outcomes, notPassedTexts } = verifiedOutcomes([agent], [signedStatement()], FACTS);
    expect([outcomes, notPassedTexts.size]).toEqual([[], 0]);
  });
});

test('the signed text is the same for equal statements, and differs for different statements', () => {
  const { statement } = signedStatement();
  const reordered = Object.fromEntries(Object.entries(statement).reverse()) as EvidenceStatement;
  expect(evidenceText(reordered)).toBe(evidenceText(statement));
  expect(evidenceText({ ...statement, base_version: 8 })).not.toBe(evidenceText(statement));
  expect(evidenceText(statement)).toMatch(/^gcc\/evidence\/v1\n\{/);
});

test('keeps the last statement of each runner, and only the latest ones if there are too many', () => {
  let candidate = { evidence: [] } as unknown as CandidateRecord;
  for (let at = 0; at <= STATEMENTS_MAX; at += 1)
    candidate = withEvidence(candidate, signedStatement({ runner_id: runnerId(at) }));
  const runnerIds = () => candidate.evidence.map(({ statement }) => statement.runner_id);
  expect(runnerIds()).toEqual(Array.from({ length: STATEMENTS_MAX }, (_, at) => runnerId(at + 1)));
  candidate = withEvidence(candidate, signedStatement({ runner_id: runnerId(2), generation: 4 }));
  expect(runnerIds().filter((id) => id === runnerId(2))).toHaveLength(1);
  expect(candidate.evidence.at(-1)?.statement.generation).toBe(4);
});

test('a new runner replaces the runner that was revoked first, and is refused if all are enrolled', () => {
  const ids = Array.from({ length: RUNNERS_MAX }, (_, at) => runnerId(at));
  const full: Runners = Object.fromEntries(ids.map((id) => [id, runnerWith()]));
  expect(withRunner(full, runnerId(99), runnerWith())).toBeNull();
  const revokedRunner = (second: string) =>
    runnerWith({ state: 'revoked', revoked_at: `2026-01-04T06:00:0${second}.000Z` });
  const changed = withRunner(
    { ...full, [runnerId(3)]: revokedRunner('9'), [runnerId(5)]: revokedRunner('1') },
    runnerId(99),
    runnerWith(),
  );
  expect(Object.keys(changed ?? {})).toHaveLength(RUNNERS_MAX);
  expect([changed?.[runnerId(5)], changed?.[runnerId(99)]?.state]).toEqual([undefined, 'enrolled']);
});
