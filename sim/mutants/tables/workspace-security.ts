import type { Mutant } from '../mutant.js';

const GUARDED_PATHS_FILE = 'src/core/methodology/definition/guarded-paths.ts';
const APPROVAL = 'src/core/claims/human-approval.ts';
const PATH_TESTS = [
  'src/core/methodology/definition/guarded-paths.test.ts',
  'src/core/methodology/definition/asset-path.test.ts',
];
const LISTENER_TESTS = ['test/security/private-listener.test.ts'];
const APPROVAL_TESTS = ['src/core/claims/human-approval.test.ts'];

/** Faults in the protection of a person's machine against an agent's files and text. */
export const WORKSPACE_SECURITY_MUTANTS: readonly Mutant[] = [
  {
    name: 'own-folder-open',
    file: GUARDED_PATHS_FILE,
    find: "'.ai-workspace', '.genesis']",
    replace: "'.ai-workspace']",
    harm: 'A result overwrites the handles and the log of the CLI.',
    tests: PATH_TESTS,
  },
  {
    name: 'short-names-let-in',
    file: 'src/core/methodology/definition/asset-path.ts',
    find: 'if (isWindowsShortName(name)) return',
    replace: 'if (name === null) return',
    harm: 'On Windows a result reaches a protected folder through its short name.',
    tests: PATH_TESTS,
  },
  {
    name: 'names-folded-by-lower-case-alone',
    file: GUARDED_PATHS_FILE,
    find: '.toUpperCase().toLowerCase()',
    replace: '.toLowerCase()',
    harm: 'A letter that is folded by upper-casing only, not by lower-casing, gives access to a protected folder.',
    tests: PATH_TESTS,
  },
  {
    name: 'commanding-files-by-the-word-of-an-agent',
    file: 'src/core/methodology/definition/authority.ts',
    find: 'if (paths.length > 0) return',
    replace: 'if (paths.length > 1000) return',
    harm: 'An agent changes the settings of a coding agent, and no person sees it.',
    tests: ['src/core/methodology/definition/authority.test.ts'],
  },
  {
    name: 'unconfigured-project-asks-nobody',
    file: 'src/coordinator/operations/convergence-facts.ts',
    find: "if (methodology === null && authority.decision === 'granted') return",
    replace: 'if (methodology === null) return',
    harm: 'When the files of a workspace cannot be read, an agent can configure other programs.',
    tests: ['test/security/promotion.test.ts'],
  },
  {
    name: 'commanding-files-promoted-unseen',
    file: 'src/workspace/drafts/promote.ts',
    find: '!accepted.human_approved && isToolConfig(path)',
    replace: 'accepted.human_approved && false',
    harm: 'An imported log brings hooks that no person approved.',
    tests: ['src/workspace/drafts/promote.test.ts'],
  },
  {
    name: 'any-review-approves',
    file: APPROVAL,
    find: "      payload.decision === 'APPROVED' &&\n",
    replace: '',
    harm: 'A result that a person rejected is promoted.',
    tests: APPROVAL_TESTS,
  },
  {
    name: 'approval-of-another-candidate',
    file: APPROVAL,
    find: 'payload.candidate_sha256 === accepted.payload.result_sha256',
    replace: 'payload.candidate_sha256 !== undefined',
    harm: 'An approval of harmless files also promotes other files.',
    tests: APPROVAL_TESTS,
  },
  {
    name: 'told-review-approves',
    file: APPROVAL,
    find: '      seq !== undefined &&\n',
    replace: '',
    harm: 'An agent’s own report that a person approved the result is trusted.',
    tests: APPROVAL_TESTS,
  },
  {
    name: 'text-reaches-the-terminal',
    file: 'src/cli/output/sanitize.ts',
    find: "return match === '\\r\\n' ? '\\n' : escaped(match);",
    replace: 'return match;',
    harm: 'Text from an agent controls a terminal.',
    tests: ['src/cli/output/sanitize.test.ts'],
  },
  {
    name: 'private-listener-for-everybody',
    file: 'src/server/auth/private-token.ts',
    find: 'timingSafeEqual(digestOf(token), expected) ?',
    replace: 'timingSafeEqual(digestOf(token), expected) || token.length >= 0 ?',
    harm: 'Every user of the machine has the role operator in the workspace.',
    tests: LISTENER_TESTS,
  },
  {
    name: 'forged-address-believed',
    file: 'src/workspace/regular-file.ts',
    find: "return (mode & 0o077) === 0 ? null : 'open_to_others';",
    replace: 'return null;',
    harm: 'A file writable by others sends the commands and tokens of this user to another port.',
    tests: LISTENER_TESTS,
  },
];
