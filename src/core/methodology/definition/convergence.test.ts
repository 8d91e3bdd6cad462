import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EffectiveCheck } from '../../contract/checks.js';
import { CHECK_TYPES } from '../../contract/values.js';
import { judgeConvergence, type ReportedCheck } from './convergence.js';

const check = (name: string, overrides: Partial<EffectiveCheck> = {}): EffectiveCheck => ({
  name,
  type: 'agent',
  criterion: name,
  required: true,
  skipped: null,
  ...overrides,
});

describe('an edge', () => {
  const checks = [check('a', { type: 'deterministic' }), check('b'), check('c', { required: false })];

  // req: EVL-002
  it('converges when every required check is reported as passed', () => {
    const reported: ReportedCheck[] = [
      { name: 'a', type: 'deterministic', result: 'pass' },
      { name: 'b', result: 'pass' },
      { name: 'c', result: 'fail' },
    ];
    expect(judgeConvergence(checks, reported)).toEqual({ delta: 0, failing: [], human_checks: [] });
  });

  it.each(['fail', 'skip', 'error', 'pending'] as const)(
    'does not converge while a required check is %s',
    (result) => {
      const verdict = judgeConvergence(checks, [
        { name: 'a', result: 'pass' },
        { name: 'b', result },
      ]);
      expect(verdict).toMatchObject({ delta: 1, failing: [{ name: 'b' }] });
    },
  );

  it('does not converge with unreported checks', () => {
    const says = 'It was not reported.';
    expect(judgeConvergence(checks, [])).toEqual({
      delta: 2,
      failing: [
        { name: 'a', says },
        { name: 'b', says },
      ],
      human_checks: [],
    });
  });

  it('does not converge with a check that cannot run, whatever is reported for it', () => {
    const verdict = judgeConvergence(
      [check('a', { skipped: 'It has no command.' })],
      [{ name: 'a', result: 'pass' }],
    );
    expect(verdict).toMatchObject({
      delta: 1,
      failing: [{ name: 'a', says: expect.stringContaining('no command') }],
    });
  });

  it('does not converge with a check that is reported under another type', () => {
    const verdict = judgeConvergence(checks, [
      { name: 'a', type: 'agent', result: 'pass' },
      { name: 'b', result: 'pass' },
    ]);
    expect(verdict.failing).toEqual([{ name: 'a', says: 'It is deterministic but was reported as agent.' }]);
  });

  it('does not converge if one of two reports failed', () => {
    const reports = [
      { name: 'b', result: 'fail' },
      { name: 'b', result: 'pass' },
    ] as const;
    expect(judgeConvergence([check('b')], reports).delta).toBe(1);
    expect(judgeConvergence([check('b')], reports.toReversed()).delta).toBe(1);
  });

  it('does not converge without checks, or if none has passed', () => {
    expect(judgeConvergence([], [{ name: 'x', result: 'pass' }]).delta).toBe(1);
    expect(judgeConvergence([check('a', { required: false })], []).delta).toBe(1);
    expect(judgeConvergence([check('a', { required: false })], [{ name: 'a', result: 'pass' }]).delta).toBe(
      0,
    );
  });
});

describe('a human check', () => {
  const checks = [check('a'), check('h', { type: 'human' }), check('i', { type: 'human', required: false })];

  // req: HUM-006
  it('cannot be passed by a report, but can be failed by one', () => {
    const passed = [
      { name: 'a', result: 'pass' },
      { name: 'h', result: 'pass' },
    ] as const;
    expect(judgeConvergence(checks, passed)).toEqual({ delta: 0, failing: [], human_checks: ['h'] });
    expect(judgeConvergence(checks, [...passed, { name: 'h', result: 'fail' }])).toMatchObject({
      delta: 1,
      failing: [{ name: 'h' }],
      human_checks: [],
    });
  });
});

it('counts failing checks, and converges only if every required check has passed', () => {
  const result = fc.constantFrom('pass', 'fail', 'skip', 'error', 'pending');
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const anyCheck = fc.record({
    name,
    type: fc.constantFrom(...CHECK_TYPES),
    criterion: fc.constant(''),
    required: fc.boolean(),
    skipped: fc.constantFrom(null, 'x'),
  });
  const checks = fc.uniqueArray(anyCheck, { selector: (check) => check.name });
  fc.assert(
    fc.property(checks, fc.array(fc.record({ name, result })), (edgeChecks, reported) => {
      const {
        delta,
        failing,
        human_checks: human,
      } = judgeConvergence(edgeChecks, reported as ReportedCheck[]);
      expect(delta).toBe(failing.length);
      if (delta > 0 || human.length > 0) return;
      expect(edgeChecks).not.toHaveLength(0);
      for (const { name, required, skipped } of edgeChecks.filter((check) => check.required)) {
        expect(required && skipped).toBeNull();
        const results = reported.filter((report) => report.name === name).map((report) => report.result);
        expect(new Set(results)).toEqual(new Set(['pass']));
      }
    }),
  );
});
