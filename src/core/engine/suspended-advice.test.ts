import { expect, it } from 'vitest';
import { holderAdvice } from './holder-advice.js';
import { type LastRun, suspendedAdvice, suspendedCommand } from './suspended-advice.js';

const EDGE = 'REQ-F-A-001#design_code';
const run = (status: LastRun['status']): LastRun => ({ run_id: 'r-1', status });

it('names the retry of the run that ended without a candidate', () => {
  expect(suspendedCommand(EDGE, run('ESCALATED'))).toBe('gen runs retry r-1');
  expect(suspendedCommand(EDGE, run('FAILED'))).toBe('gen runs retry r-1');
  expect(suspendedAdvice(EDGE, false, run('ESCALATED'))).toBe('Continue its run: gen runs retry r-1');
});

it('names gen iterate for a run that has not ended', () => {
  for (const status of ['REQUESTED', 'RUNNING', 'WAITING'] as const)
    expect(suspendedCommand(EDGE, run(status))).toBe(`gen iterate ${EDGE}`);
});

it('names the release of a claim that no run continues', () => {
  const release = `gen task force-release ${EDGE} --reason suspended`;
  expect(suspendedCommand(EDGE, null)).toBe(release);
  expect(suspendedCommand(EDGE, run('CANCELLED'))).toBe(release);
  expect(suspendedAdvice(EDGE, false, null)).toContain('Its holder can resume or release it');
});

it('names the review only while a candidate waits for one, to the holder and to others alike', () => {
  const review = 'gen review --feature REQ-F-A-001 --edge design_code';
  expect(suspendedAdvice(EDGE, true, run('WAITING'))).toContain(review);
  expect(suspendedAdvice('A-001-core', true, null)).toContain('gen review A-001-core');
  const held = { subject: EDGE, generation: 1, checks: [], evidence: null };
  const adviceFor = (has_open_gate: boolean) =>
    holderAdvice({ ...held, suspended: { has_open_gate, last_run: run('ESCALATED') } });
  expect(adviceFor(true)).toContain(review);
  expect(adviceFor(false)).toBe('Continue its run: gen runs retry r-1');
});
