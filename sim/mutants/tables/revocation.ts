import type { Mutant } from '../mutant.js';

/** Faults that leave a revoked or expired credential some access. */
export const REVOCATION_MUTANTS: readonly Mutant[] = [
  {
    name: 'decided-after-revocation',
    file: 'src/coordinator/queue/shared-commits.ts',
    find: 'if (!isStillAuthorized(job.caller)) {',
    replace: 'if (job.tries < 0) {',
    harm: 'A waiting caller is granted work after its key was revoked.',
  },
  {
    name: 'decided-after-revocation-in-a-log',
    file: 'src/coordinator/queue/log-commits.ts',
    find: 'isStillAuthorized(job.caller)\n',
    replace: 'job.tries >= 0\n',
    harm: 'With the embedded log, a waiting caller is granted work after its key was revoked.',
  },
  {
    name: 'waiting-call-answered-after-revocation',
    file: 'src/server/while-authorized.ts',
    find: 'return authorization.isStillAuthorized() ? response : toResponse(unauthorizedProblem());',
    replace: 'return response;',
    harm: 'A waiting call gets its result although its key was revoked meanwhile.',
    tests: ['test/security/revocation.test.ts'],
  },
  {
    name: 'stream-goes-on-after-revocation',
    file: 'src/server/stream-subscriber.ts',
    find: 'if (this.authorization.isStillAuthorized()) this.controller.enqueue(chunk);',
    replace: 'if (this.position >= 0) this.controller.enqueue(chunk);',
    harm: 'A stream delivers events until the revocation signal reaches it.',
    tests: ['src/server/project-feeds.test.ts'],
  },
  {
    name: 'change-of-keys-not-heard',
    file: 'src/server/auth/credential-watch.ts',
    find: 'for (const check of [...checks]) check();',
    replace: 'for (const check of [...checks].slice(1)) check();',
    harm: 'A waiting request continues after its key was revoked.',
    tests: ['src/server/auth/credential-watch.test.ts'],
  },
  {
    name: 'expiry-not-waited-for',
    file: 'src/server/auth/credential-watch.ts',
    find: '    checks.add(check);\n    scheduleExpiry();\n',
    replace: '    checks.add(check);\n',
    harm: 'A waiting request continues after its key or token has expired.',
    tests: ['src/server/auth/credential-watch.test.ts'],
  },
  {
    name: 'slow-body-trusted',
    file: 'src/server/middleware/body.ts',
    find: "call.route.action !== 'public' && !call.authorization.isStillAuthorized()",
    replace: "call.route.action === 'public' && !call.authorization.isStillAuthorized()",
    harm: 'A request with a revoked key is accepted if its headers arrived before the revocation.',
    tests: ['test/security/revocation.test.ts'],
  },
];
