import type { Mutant } from '../mutant.js';

const CLAIM = 'src/core/claims/decide/claim.ts';
const SUBMIT = 'src/core/claims/decide/submit.ts';
const HOLDER_COMMANDS = 'src/core/claims/decide/holder-commands.ts';
const HANDLE = 'src/core/claims/decide/handle.ts';
const OPERATE = 'src/core/claims/decide/operator-commands.ts';
const REVIEW = 'src/core/claims/decide/review.ts';
const EXPIRE = 'src/core/claims/decide/expire.ts';
const SIGN_OF_LIFE = 'src/core/claims/decide/sign-of-life.ts';
const SIGN_OF_LIFE_TESTS = ['src/core/claims/sign-of-life.test.ts'];
const RESUME_TESTS = ['src/coordinator/tests/resume.test.ts'];

/** Faults in the claim rules. */
export const RULE_MUTANTS: readonly Mutant[] = [
  {
    name: 'submit-under-an-old-generation',
    file: SUBMIT,
    find: "  if (handle.generation < head.generation) return 'STALE_GENERATION';\n",
    replace: '',
    harm: 'The result of a zombie is accepted although another agent was granted the task.',
  },
  {
    name: 'submit-under-a-future-generation',
    file: SUBMIT,
    find: "  if (handle.generation > head.generation) return 'FUTURE_GENERATION';\n",
    replace: '',
    harm: 'A forged generation is accepted for the claim.',
  },
  {
    name: 'renew-under-any-generation',
    file: HOLDER_COMMANDS,
    find: '  }\n  const fault = handleFault(head, command.handle, context);',
    replace:
      '  }\n  const fault = handleFault(head, { ...command.handle, generation: head.generation }, context);',
    harm: 'A zombie renews the lease of its successor.',
  },
  {
    name: 'release-under-any-generation',
    file: HOLDER_COMMANDS,
    find: "succeedUnchanged(head, 'RELEASED');\n  const fault = handleFault(head, command.handle, context);",
    replace:
      "succeedUnchanged(head, 'RELEASED');\n  const fault = handleFault(head, { ...command.handle, generation: head.generation }, context);",
    harm: 'A zombie releases the claim of its successor.',
  },
  {
    name: 'resume-by-another-session',
    file: CLAIM,
    find: 'resume === undefined || claim === null || claim.session_id !== session_id) return false;',
    replace: 'resume === undefined || claim === null) return false;',
    harm: 'A session is given the claim of another as its own.',
    tests: RESUME_TESTS,
  },
  {
    name: 'resume-by-another-credential',
    file: CLAIM,
    find: 'if (takenBy !== resume.principal || facts.is_session_closed) return false;',
    replace: 'if (facts.is_session_closed) return false;',
    harm: 'A caller that knows the name of a session gets the handles of its claims.',
    tests: RESUME_TESTS,
  },
  {
    name: 'resume-after-the-lease',
    file: CLAIM,
    find: 'return isLive(head, now_ms, rules) && now_ms < lapsesAtMs(claim, rules);',
    replace: "return claim.state === 'ACTIVE';",
    harm: 'A claim comes back after its lease, when another agent may already take it over.',
    tests: RESUME_TESTS,
  },
  {
    name: 'session-not-compared',
    file: HANDLE,
    find: 'if (head.claim === null || head.claim.session_id !== handle.session_id) return false;',
    replace: 'if (head.claim === null) return false;',
    harm: 'Another session acts under a claim that it was never granted.',
  },
  {
    name: 'claim-id-not-compared',
    file: HANDLE,
    find: 'if (handle.claim_id === null) return true;',
    replace: 'if (handle.claim_id !== undefined) return true;',
    harm: 'Two agents of one session act under each other’s claims.',
  },
  {
    name: 'grant-while-live',
    file: CLAIM,
    find: 'if (isLive(head, now_ms, rules)) {',
    replace: 'if (isLive(head, now_ms, rules) && head.generation < 0) {',
    harm: 'Two agents hold the same task at once.',
  },
  {
    name: 'grant-without-a-new-generation',
    file: CLAIM,
    find: 'const attribution = attributionOf(command, nextGeneration(head.generation, context.rules));',
    replace: 'const attribution = attributionOf(command, Math.max(head.generation, 1));',
    harm: 'After a takeover the generation of the old holder is still valid.',
  },
  {
    name: 'grant-after-completion',
    file: CLAIM,
    find: "  if (head.phase === 'COMPLETED') return { code: 'DENIED_COMPLETED' };\n",
    replace: '',
    harm: 'A completed task is granted again.',
  },
  {
    name: 'grant-before-dependencies',
    file: CLAIM,
    find: 'if (facts.waiting_for.length > 0) {',
    replace: 'if (facts.waiting_for.length > 1000) {',
    harm: 'A task starts before its dependencies are complete.',
  },
  {
    name: 'grant-to-a-closed-session',
    file: CLAIM,
    find: "  if (facts.is_session_closed) return { code: 'SESSION_CLOSED' };\n",
    replace: '',
    harm: 'A session that a person closed continues to work.',
  },
  {
    name: 'grant-when-full',
    file: CLAIM,
    find: 'if (facts.reached_limit !== null) {',
    replace: `if (facts.reached_limit === 'max_active_sessions') {`,
    harm: 'A claim is granted beyond the limit that the store reported, or is retried for ever.',
  },
  {
    name: 'submit-after-completion',
    file: SUBMIT,
    find: "  if (head.phase === 'COMPLETED') return 'TASK_ALREADY_COMPLETED';\n  if (claim.state === 'RELEASED' || claim.state === 'SUPERSEDED') return 'NO_CLAIM';\n",
    replace: "  if (head.phase !== 'COMPLETED' && claim.state === 'RELEASED') return 'NO_CLAIM';\n",
    harm: 'A second result replaces the accepted one.',
  },
  {
    name: 'submit-after-release',
    file: SUBMIT,
    find: "  if (claim.state === 'RELEASED' || claim.state === 'SUPERSEDED') return 'NO_CLAIM';\n",
    replace: '',
    harm: 'A released or superseded holder can still submit a result.',
  },
  {
    name: 'late-result-accepted-where-refused',
    file: SUBMIT,
    find: 'return isLapsed(head, context.now_ms, context.rules);\n}',
    replace: 'return false;\n}',
    harm: 'A project that refuses late results gets them anyway.',
  },
  {
    name: 'dependency-change-unnoticed',
    file: SUBMIT,
    find: "  if (claim.inputs !== facts.inputs) return 'DEPENDENCY_CHANGED';\n",
    replace: '',
    harm: 'A result is accepted although its inputs are no longer valid.',
  },
  {
    name: 'gate-walked-around',
    file: SUBMIT,
    find: "return gate?.decision === 'APPROVED' && gate.candidate_sha256 === command.result.sha256;",
    replace: "return gate?.decision === 'APPROVED';",
    harm: 'A person approves one candidate, and another is accepted.',
  },
  {
    name: 'review-of-another-candidate',
    file: REVIEW,
    find: '  gate.iteration === command.iteration &&\n  gate.candidate_sha256 === command.candidate_sha256;',
    replace: '  gate.iteration === command.iteration;',
    harm: 'A review counts for a candidate that was not reviewed.',
  },
  {
    name: 'renew-after-expiry',
    file: HOLDER_COMMANDS,
    find: `  if (isLapsed(head, context.now_ms, context.rules))\n    return withExpiryBound(refuse(head, 'ALREADY_EXPIRED'), context);\n  // The lease`,
    replace: '  // The lease',
    harm: 'A claim that others can already take over becomes active again.',
  },
  {
    name: 'renewal-not-written',
    file: HOLDER_COMMANDS,
    find: 'const builder = new DecisionBuilder(head, context);\n  const leaseSeconds = command.lease_seconds ?? claim.lease_seconds;',
    replace: `if (claim.lease_seconds !== null) return succeedUnchanged(head, 'RENEWED', { expires_at_ms: context.now_ms + claim.lease_seconds * 1000 });\n  const builder = new DecisionBuilder(head, context);\n  const leaseSeconds = command.lease_seconds ?? claim.lease_seconds;`,
    harm: 'The holder gets a lease that is not in the log.',
  },
  {
    name: 'sweeper-ends-a-held-claim',
    file: EXPIRE,
    find: "disposition: 'held',",
    replace: "disposition: 'eligible',",
    harm: 'The sweeper expires claims that the policy keeps held.',
  },
  {
    name: 'operator-does-not-name-the-generation',
    file: OPERATE,
    find: 'head.generation !== command.expected_generation)',
    replace: 'head.generation < command.expected_generation)',
    harm: 'A person ends a claim of a generation that they have not seen.',
  },
  {
    name: 'adopt-without-a-new-generation',
    file: OPERATE,
    find: 'emitGrant(\n    builder,\n    {\n      ...grantee,',
    replace: 'if (head.generation === 0) emitGrant(\n    builder,\n    {\n      ...grantee,',
    harm: 'The adopted result has the generation of another claim.',
  },
  {
    name: 'adopt-over-a-live-claim',
    file: OPERATE,
    find: '  emitSupersede(builder, command);\n  const grantee',
    replace: '  const grantee',
    harm: 'A claim is granted over one that was never ended.',
  },
  {
    name: 'sign-of-life-moves-the-lease',
    file: SIGN_OF_LIFE,
    find: 'expires_at: expires_at_ms === null ? null : isoTime(expires_at_ms),',
    replace:
      'expires_at: expires_at_ms === null ? null : isoTime(context.now_ms + (lease_seconds ?? 0) * 1000),',
    harm: 'An agent keeps a task permanently by writing notes.',
    tests: SIGN_OF_LIFE_TESTS,
  },
  {
    name: 'sign-of-life-of-an-imposter',
    file: SUBMIT,
    find: 'const isHolder = grant !== null && grant.generation === head.generation;',
    replace: 'const isHolder = head.claim !== null;',
    harm: 'Another caller can keep a silent holder from being reported, by forged submissions.',
    tests: SIGN_OF_LIFE_TESTS,
  },
  {
    name: 'refusals-without-a-limit',
    file: 'src/core/claims/refusals.ts',
    find: "if (ordinal <= REFUSALS_RECORDED_MAX) return 'full';",
    replace: "if (ordinal > 0) return 'full';",
    harm: 'A caller that is always refused fills the log.',
    tests: ['src/core/claims/refusals.test.ts'],
  },
];
