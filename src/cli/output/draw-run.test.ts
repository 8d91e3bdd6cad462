import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../core/engine/check-outcome.js';
import { compileMachine } from '../../core/engine/compile-machine.js';
import { buildCheck, buildPlan } from '../../core/engine/testing.js';
import { drawRun } from './draw-run.js';
import { type DrawnRun, endDrawing, endStep, enterState, startedDrawing } from './run-drawing.js';

const PAINT = pc.createColors(false);
const CHECKS = [buildCheck('tests_pass'), buildCheck('reads_well', 'agent'), buildCheck('ok', 'human')];
const PLAN = buildPlan({ checks: CHECKS, max_iterations: 3 });
const START = startedDrawing(
  { subject: 'REQ-F-A#design_code', generation: 2, max_iterations: 3 },
  compileMachine(PLAN).machine,
  CHECKS,
);
const BEFORE_CHECKS = ['ClaimEdge', 'LoadConfig', 'LoadContext', 'ConstructCandidate', 'DeterministicChecks'];

const enter = (run: DrawnRun, ...states: string[]): DrawnRun => states.reduce(enterState, run);
const ended = (state: string, check: string | null, result: unknown, iteration = 1) => ({
  ...{ state, check, iteration, result },
  spent: { ...NO_COST, input_tokens: 10, usd: 0.5 },
  error: null,
});
const lines = (run: DrawnRun, width = 80): string[] => drawRun(run, width, PAINT);

describe('the drawing of a run', () => {
  it('shows the states of the machine in order, and its checks under their tier', () => {
    expect(lines(START)).toEqual([
      'REQ-F-A#design_code, generation 2',
      '  ○ ClaimEdge',
      '  ○ LoadConfig',
      '  ○ LoadContext',
      '  ○ ConstructCandidate',
      '  ○ DeterministicChecks',
      '    ○ tests_pass',
      '  ○ AgentChecks',
      '    ○ reads_well',
      '  ○ HumanGate',
      '  ○ JudgeIteration',
      'iteration 1 of 3, 0.0 s',
    ]);
  });

  it('marks what is done, where it stands, and results as they come', () => {
    const checked = enter(START, ...BEFORE_CHECKS);
    expect(lines(checked)).toContain('  ✓ ConstructCandidate');
    expect(lines(checked)).toContain('  ● DeterministicChecks');
    const passed = endStep(
      checked,
      ended('Check: tests_pass', 'tests_pass', { result: 'pass', blocks: false }),
    );
    expect(lines(passed)).toContain('    ✓ tests_pass  pass');
    expect(lines(passed).at(-1)).toBe('iteration 1 of 3, 10 tokens, $0.5000, 0.0 s');
    const failed = endStep(
      checked,
      ended('Check: tests_pass', 'tests_pass', { result: 'fail', blocks: true }),
    );
    expect(lines(enter(failed, 'DeterministicPassed?'))).toEqual(
      expect.arrayContaining(['  ✗ DeterministicChecks', '    ✗ tests_pass  fail']),
    );
  });

  it('begins the next iteration anew, and keeps the delta', () => {
    const failed = endStep(
      enter(START, ...BEFORE_CHECKS),
      ended('Check: tests_pass', 'tests_pass', { result: 'fail', blocks: true }),
    );
    const judged = endStep(enter(failed, 'JudgeIteration'), ended('JudgeIteration', null, { delta: 2 }));
    const next = enter(judged, 'ConvergenceCheck', 'NextIteration', 'ConstructCandidate');
    const again = endStep(next, ended('ConstructCandidate', null, {}, 2));
    expect(lines(again)).toEqual(
      expect.arrayContaining(['  ● ConstructCandidate', '  ○ DeterministicChecks', '    ○ tests_pass']),
    );
    expect(lines(again).at(-1)).toMatch(/^iteration 2 of 3, delta 2, /);
  });

  it('says that a person is needed, and how the run has ended', () => {
    const atGate = enter(START, ...BEFORE_CHECKS, 'AgentChecks', 'HumanGate');
    expect(lines(endDrawing(atGate, true))).toContain('  … HumanGate  waits for a person');
    const promoted = enter(atGate, 'JudgeIteration', 'Promote', 'Converged');
    expect(lines(promoted)).toContain('  ✓ Promote');
    expect(lines(promoted).join()).not.toContain('Escalate');
  });

  it('marks a failed step, until it succeeds when it is tried again', () => {
    const at = enter(START, 'ClaimEdge', 'LoadConfig');
    const failed = endStep(at, { ...ended('LoadConfig', null, null), error: 'no answer' });
    expect(lines(failed)).toContain('  ✗ LoadConfig');
    expect(lines(endStep(failed, ended('LoadConfig', null, {})))).toContain('  ● LoadConfig');
  });

  it('has no line that is wider than the terminal, and keeps hostile names on their line', () => {
    const hostile = [{ ...buildCheck('tests_pass'), name: `a\n\u001b[2J${'x'.repeat(200)}` }];
    const plan = buildPlan({ checks: hostile });
    const run = startedDrawing(
      { subject: 'S'.repeat(90), generation: 1, max_iterations: 3 },
      compileMachine(plan).machine,
      hostile,
    );
    for (const width of [20, 40, 80]) {
      for (const line of lines(run, width)) {
        expect(line.length).toBeLessThanOrEqual(width);
        expect([...line].every((char) => char >= ' ')).toBe(true);
      }
    }
  });

  it('draws at most twelve checks of a tier', () => {
    const many = Array.from({ length: 15 }, (_, at) => buildCheck(`check_${at}`));
    const machine = compileMachine(buildPlan({ checks: many })).machine;
    const run = startedDrawing({ subject: 'S', generation: 1, max_iterations: 3 }, machine, many);
    expect(lines(run).filter((line) => line.includes('check_'))).toHaveLength(12);
    expect(lines(run)).toContain('    and 3 more');
  });
});
