import type { Mutant } from '../mutant.js';

const SUBMIT = 'src/core/claims/decide/submit.ts';
const CLAIM = 'src/core/claims/decide/claim.ts';
const EDGE_FACTS = 'src/coordinator/operations/edge-facts.ts';
const CONVERGENCE_FACTS = 'src/coordinator/operations/convergence-facts.ts';
const CONFIGURE = 'src/coordinator/operations/configure.ts';

const CONVERGE_TESTS = ['src/core/claims/converge.test.ts', 'src/coordinator/tests/converge.test.ts'];
const EDGE_TESTS = ['src/coordinator/tests/edges.test.ts'];

/**
 * Faults in the rules of a configured project. Tests must find them, because the simulated projects do not depend on these
 * rules.
 */
export const METHODOLOGY_MUTANTS: readonly Mutant[] = [
  {
    name: 'converged-with-failing-checks',
    file: SUBMIT,
    find: 'facts.convergence.failing.length > 0',
    replace: 'facts.convergence.failing.length > 1000',
    harm: 'An edge converges although its tests fail.',
    tests: CONVERGE_TESTS,
  },
  {
    name: 'human-not-asked',
    file: SUBMIT,
    find: "return authority === 'escalate' || convergence?.needs_human_review === true;",
    replace: "return authority === 'escalate';",
    harm: 'A result that a person must review converges without the review.',
    tests: CONVERGE_TESTS,
  },
  {
    name: 'rejected-role-accepted',
    file: SUBMIT,
    find: "  if (facts.authority === 'reject' && !isApproved(head, command)) return 'OUTSIDE_AUTHORITY';\n",
    replace: '',
    harm: 'A role converges an edge that it has no authority for.',
    tests: CONVERGE_TESTS,
  },
  {
    name: 'anybody-passes-for-a-human',
    file: CONVERGENCE_FACTS,
    find: 'claimedRole === HUMAN_ROLE && reported.caller.may_review',
    replace: 'claimedRole === HUMAN_ROLE',
    harm: 'An agent reports itself as human and passes every gate.',
    tests: CONVERGE_TESTS,
  },
  {
    name: 'files-of-a-blob-not-seen',
    file: 'src/coordinator/operations/results.ts',
    find: 'return bytes === null ? null : parseResultBlob(bytes);',
    replace: 'return null;',
    harm: 'The specification is changed without a person, by sending the manifest as a blob.',
    tests: CONVERGE_TESTS,
  },
  {
    name: 'second-agent-let-in',
    file: CLAIM,
    find: "  if (facts.edge?.is_second_agent) return { code: 'DENIED_SINGLE_AGENT' };\n",
    replace: '',
    harm: 'Two agents work where exclusive access was granted to one.',
    tests: EDGE_TESTS,
  },
  {
    name: 'sharing-not-fenced',
    file: EDGE_FACTS,
    find: 'if (touchedModules(methodology.modules, feature_id) !== null) transaction.invalidateConcurrentDecisions();',
    replace: '',
    harm: 'Two coordinators grant work on the same modules at the same time.',
    tests: ['src/coordinator/tests/two-coordinators.test.ts'],
  },
  {
    name: 'configured-under-the-old-rules',
    file: CONFIGURE,
    find: 'else transaction.invalidateConcurrentDecisions();',
    replace: 'else void 0;',
    harm: 'Another coordinator continues to grant edges that the project no longer has.',
    tests: ['src/coordinator/tests/two-coordinators.test.ts'],
  },
];
