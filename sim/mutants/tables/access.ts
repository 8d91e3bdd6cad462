import type { Mutant } from '../mutant.js';

const AUTHORIZE = 'src/server/auth/authorize.ts';
const KEY_RING = 'src/coordinator/authentication/key-ring.ts';
const KEY_TESTS = ['src/coordinator/authentication/key-binding.test.ts'];
const SESSIONS = 'src/core/sessions.ts';
const SESSION_TESTS = ['test/security/sessions.test.ts'];

/** Faults in authorization: platform rights, keys, sessions, tokens. Their tests are the attacks themselves. */
export const ACCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'operator-of-a-tenant-has-the-platform',
    file: AUTHORIZE,
    find: "role === 'operator' && tenant_id === null;",
    replace: "role === 'operator';",
    why: 'A token that names a tenant and the role operator reads metrics and creates keys for every tenant.',
    tests: ['test/security/platform-role.test.ts'],
  },
  {
    name: 'no-tenant-is-every-tenant',
    file: AUTHORIZE,
    find: 'if (principal.tenant_id !== tenantId)',
    replace: 'if (principal.tenantId !== null && principal.tenantId !== tenantId)',
    why: 'A credential without a tenant that is no operator works in every tenant.',
    tests: ['src/server/auth/authorize.test.ts'],
  },
  {
    name: 'token-from-the-future',
    file: 'src/server/auth/jwt.ts',
    find: 'if (iat > now + CLOCK_SKEW_SECONDS) {',
    replace: 'if (iat > now + 1e12) {',
    why: 'A token that is dated in the future counts, although its issue date cannot be true.',
    tests: ['test/security/tokens.test.ts'],
  },
  {
    name: 'browser-of-another-site',
    file: 'src/server/origin-guard.ts',
    find: "new Set([undefined, 'same-origin', 'none'])",
    replace: "new Set([undefined, 'same-origin', 'none', 'cross-site'])",
    why: 'A page of another site makes a browser send commands to an open server.',
    tests: ['test/security/tokens.test.ts'],
  },
  {
    name: 'session-of-anyone',
    file: SESSIONS,
    find: 'return caller.user_id !== null && owner.user_id === caller.user_id;',
    replace: 'return true;',
    why: 'An agent closes the session of a colleague, and all its claims are released.',
    tests: SESSION_TESTS,
  },
  {
    name: 'no-user-is-the-same-user',
    file: SESSIONS,
    find: 'return caller.user_id !== null && owner.user_id === caller.user_id;',
    replace: 'return owner.user_id === caller.user_id;',
    why: 'Keys without a user control each other’s sessions.',
    tests: SESSION_TESTS,
  },
  {
    name: 'session-in-any-name',
    file: SESSIONS,
    find: 'userId === null || userId === caller.user_id || caller.may_administer;',
    replace: 'userId !== undefined || caller.may_administer;',
    why: 'An agent works in the name of a colleague.',
    tests: SESSION_TESTS,
  },
  {
    name: 'second-key-ignored',
    file: 'src/coordinator/operations/session.ts',
    find: "public_key === null || public_key === session.public_key ? null : 'PUBLIC_KEY_CONFLICT';",
    replace: 'public_key === session.public_key ? null : null;',
    why: 'A caller believes that its key is registered, and another one counts.',
    tests: SESSION_TESTS,
  },
  {
    name: 'key-of-another-store',
    file: KEY_RING,
    find: 'return isBound(this.project.meta, keyId, record);',
    replace: 'return true;',
    why: 'A key record that was made in another clone opens the server of everyone who pulls it.',
    tests: KEY_TESTS,
  },
  {
    name: 'key-grants-more-than-it-was-bound-for',
    file: 'src/coordinator/authentication/key-binding.ts',
    find: `['key', keyId, tenant_id, role, user_id,`,
    replace: `['key', keyId, tenant_id, user_id,`,
    why: 'A changed record turns a key of an agent into one of an operator.',
    tests: KEY_TESTS,
  },
  {
    name: 'unbound-key-in-a-workspace',
    file: KEY_RING,
    find: 'return untrusted_files === undefined && ',
    replace: 'return ',
    why: 'A record without a binding, pushed to the repository of a workspace, grants access.',
    tests: KEY_TESTS,
  },
  {
    name: 'workspace-keys-are-bound',
    file: 'src/coordinator/services/keys.ts',
    find: 'if (project.store.capabilities.untrusted_files !== undefined) return notBindableProblem();',
    replace: '',
    why: 'gen migrate gives a key that came with a repository the binding that it lacks.',
    tests: KEY_TESTS,
  },
  {
    name: 'unbound-key-after-migration',
    file: KEY_RING,
    find: ' && !this.project.state.records.has(KEY_BINDING_SUBJECT);',
    replace: ';',
    why: 'A record without a binding that is written after gen migrate has run grants access.',
    tests: KEY_TESTS,
  },
  {
    name: 'unbound-key-in-a-new-store',
    file: 'src/coordinator/operations/keys.ts',
    find: 'if (!hasKeys(view)) requireBinding(transaction, view, this.caller);',
    replace: '',
    why: 'A store that never had an unbound key accepts one.',
    tests: KEY_TESTS,
  },
  {
    name: 'key-whose-secret-git-tracks',
    file: KEY_RING,
    find: "if (untrusted_files === 'secret') return false;",
    replace: '',
    why: 'Someone who pushes the secret of a store together with its key log gets in wherever both are pulled.',
    tests: KEY_TESTS,
  },
];
