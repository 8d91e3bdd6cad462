import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../core/engine/check-outcome.js';
import { compileMachine } from '../../core/engine/compile-machine.js';
import { buildCheck, buildEdgePlan } from '../../core/engine/testing.js';
import { drawRun } from './draw-run.js';
import { type DrawnRun, endDrawing, endStep, enterState, startedDrawing } from './run-drawing.js';

const PAINT = pc.createColors(false);
const CHECKS = [buildCheck('tests_pass'), buildCheck('reads_well', 'agent'), buildCheck('ok', 'human')];
const PLAN = buildEdgePlan({ checks: CHECKS, max_iterations: 3 });
const START = startedDrawing(
  { subject: 'REQ-F-A#design_code', generation: 2, max_iterations: 3 },
  compileMachine(PLAN).machine,
  CHECKS,
);
const BEFORE_CHECKS = ['ClaimEdge', 'LoadConfig', 'LoadContext', 'ConstructCandidate', 'DeterministicChecks'];

const enterStates = (run: DrawnRun, ...states: string[]): DrawnRun => states.reduce(enterState, run);
const endedStep = (state: string, check: string | null, result: unknown, iteration = 1) => ({
  ...{ state, check, iteration, result },
  spent: { ...NO_COST, input_tokens: 10, usd: 0.5 },
  error: null,
});
const drawnLines = (run: DrawnRun, width = 80): string[] => drawRun(run, width, PAINT);

describe('the drawing of a run', () => {
  it('shows the states of the machine in order, and its checks under their tier', () => {
    expect(drawnLines(START)).toEqual([
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

  it('marks finished states, the current state, and results as they arrive', () => {
    const checked = enterStates(START, ...BEFORE_CHECKS);
    expect(drawnLines(checked)).toContain('  ✓ ConstructCandidate');
    expect(drawnLines(checked)).toContain('  ● DeterministicChecks');
    const passed = endStep(
      checked,
      endedStep('Check: tests_pass', 'tests_pass', { result: 'pass', blocks: false }),
    );
    expect(drawnLines(passed)).toContain('    ✓ tests_pass  pass');
    expect(drawnLines(passed).at(-1)).toBe('iteration 1 of 3, 10 tokens, $0.5000, 0.0 s');
    const failed = endStep(
      checked,
      endedStep('Check: tests_pass', 'tests_pass', { result: 'fail', blocks: true }),
    );
    expect(drawnLines(enterStates(failed, 'DeterministicPassed?'))).toEqual(
      expect.arrayContaining(['  ✗ DeterministicChecks', '    ✗ tests_pass  fail']),
    );
  });

  it('resets the marks for the next iteration, and keeps the delta', () => {
    const failed = endStep(
      enterStates(START, ...BEFORE_CHECKS),
      endedStep('Check: tests_pass', 'tests_pass', { result: 'fail', blocks: true }),
    );
    const judged = endStep(
      enterStates(failed, 'JudgeIteration'),
      endedStep('JudgeIteration', null, { delta: 2 }),
    );
    const next = enterStates(judged, 'ConvergenceCheck', 'NextIteration', 'ConstructCandidate');
    const again = endStep(next, endedStep('ConstructCandidate', null, {}, 2));
    expect(drawnLines(again)).toEqual(
      expect.arrayContaining(['  ● ConstructCandidate', '  ○ DeterministicChecks', '    ○ tests_pass']),
    );
    expect(drawnLines(again).at(-1)).toMatch(/^iteration 2 of 3, delta 2, /);
  });

  it('says that a person is needed, and how the run has ended', () => {
    const atGate = enterStates(START, ...BEFORE_CHECKS, 'AgentChecks', 'HumanGate');
    expect(drawnLines(endDrawing(atGate, true))).toContain('  … HumanGate  waits for a person');
    const promoted = enterStates(atGate, 'JudgeIteration', 'Promote', 'Converged');
    expect(drawnLines(promoted)).toContain('  ✓ Promote');
    expect(drawnLines(promoted).join()).not.toContain('Escalate');
  });

  it('marks a failed step, until it succeeds when it is tried again', () => {
    const loading = enterStates(START, 'ClaimEdge', 'LoadConfig');
    const failed = endStep(loading, { ...endedStep('LoadConfig', null, null), error: 'no answer' });
    expect(drawnLines(failed)).toContain('  ✗ LoadConfig');
    expect(drawnLines(endStep(failed, endedStep('LoadConfig', null, {})))).toContain('  ● LoadConfig');
  });

  it('has no line that is wider than the terminal, and keeps each hostile name on one line', () => {
    const hostile = [{ ...buildCheck('tests_pass'), name: `a\n\u001b[2J${'x'.repeat(200)}` }];
    const plan = buildEdgePlan({ checks: hostile });
    const run = startedDrawing(
      { subject: 'S'.repeat(90), generation: 1, max_iterations: 3 },
      compileMachine(plan).machine,
      hostile,
    );
    for (const width of [20, 40, 80]) {
      for (const line of drawnLines(run, width)) {
        expect(line.length).toBeLessThanOrEqual(width);
        expect([...line].every((char) => char >= ' ')).toBe(true);
      }
    }
  });

  it('draws at most twelve checks of a tier', () => {
    const many = Array.from({ length: 15 }, (_, at) => buildCheck(`check_${at}`));
    const machine = compileMachine(buildEdgePlan({ checks: many })).machine;
    const run = startedDrawing({ subject: 'S', generation: 1, max_iterations: 3 }, machine, many);
    expect(drawnLines(run).filter((line) => line.includes('check_'))).toHaveLength(12);
    expect(drawnLines(run)).toContain('    and 3 more');
  });
});
