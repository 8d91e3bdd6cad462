import type { Mutant } from '../mutant.js';

const JOURNAL = 'src/engine/runs/run-journal.ts';
const EXECUTE = 'src/engine/runs/execute-run.ts';
const CONCLUDE = 'src/engine/handlers/conclude.ts';
const JUDGE = 'src/core/engine/judge-iteration.ts';

/** Faults of the engine that runs edges: executors of the simulator or tests must find them. */
export const RUN_MUTANTS: readonly Mutant[] = [
  {
    name: 'completed-steps-forgotten',
    file: JOURNAL,
    find: "    if (status === 'COMPLETED')\n      this.completed.set(nameOf(step, iteration), { input_sha256, output, output_ref });",
    replace: '',
    why: 'A run that goes on after a crash does finished steps again.',
    mode: 'runs',
  },
  {
    name: 'unconfirmed-end-forgotten',
    file: JOURNAL,
    find: '    if (ended?.key.input_sha256 === input_sha256) await this.confirm(ended);\n',
    replace: '',
    why: 'A step whose end was recorded without a reply is done again.',
    tests: ['src/engine/runs/execute-run.test.ts'],
  },
  {
    name: 'old-executor-reports',
    file: 'src/core/claims/decide/handle.ts',
    find: "if (generation !== head.generation) return 'GENERATION_MISMATCH';",
    replace: 'if (generation !== head.generation) return null;',
    why: 'A late step of an executor that has lost the edge is recorded.',
    mode: 'runs',
  },
  {
    name: 'resumed-as-a-new-run',
    file: EXECUTE,
    find: 'const open = openRunOf(runs);\n  const { agent_id }',
    replace: 'const open = openRunOf(runs.filter(() => false));\n  const { agent_id }',
    why: 'A run that was cut off stays open for ever, beside a new one.',
    mode: 'runs',
  },
  {
    name: 'findings-lost',
    file: CONCLUDE,
    find: '    outcomes: [...outcomes],\n',
    replace: '    outcomes: [],\n',
    why: 'The next iteration does not know which checks have failed.',
    mode: 'runs',
  },
  {
    name: 'failed-checks-promoted',
    file: JUDGE,
    find: '  if (delta === 0) {',
    replace: '  if (delta <= 1) {',
    why: 'The engine submits a candidate whose check has failed.',
    tests: ['src/core/engine/judge-iteration.test.ts'],
  },
  {
    name: 'one-iteration-too-many',
    file: JUDGE,
    find: '  if (iteration >= max_iterations) {',
    replace: '  if (iteration > max_iterations) {',
    why: 'The verdict allows one more iteration than the edge does.',
    tests: ['src/core/engine/judge-iteration.test.ts'],
  },
  {
    name: 'budget-before-rejection',
    file: JUDGE,
    find: 'const escalation = decisionEscalation(facts.human) ?? limitEscalation(facts);',
    replace: 'const escalation = limitEscalation(facts) ?? decisionEscalation(facts.human);',
    why: 'A rejected candidate is reported as a spent budget.',
    tests: ['src/core/engine/judge-iteration.test.ts'],
  },
  {
    name: 'lost-claim-not-noticed',
    file: 'src/engine/runs/keep-claim.ts',
    find: 'if (accepted === undefined) lost.abort();',
    replace: 'if (accepted === undefined) isStopped = false;',
    why: 'An executor goes on working on an edge that it has lost.',
    tests: ['src/engine/runs/keep-claim.test.ts'],
  },
  {
    name: 'rejected-candidate-asked-again',
    file: EXECUTE,
    find: 'const end = open === undefined ? null : overruledEnd(open, events);',
    replace: 'const end = open === undefined || true ? null : overruledEnd(open, events);',
    why: 'The next executor asks again about a candidate that a person has rejected.',
    mode: 'runs',
  },
];
