import type { Mutant } from '../mutant.js';

const ACCEPT_LOSS_TESTS = ['src/cli/verify/anchor.test.ts'];
const LOG_AUDIT_TESTS = ['src/core/audit/log-audit.test.ts'];

/** Faults in checkpoints, anchors and keys, each with the tests that find it. */
export const AUDIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'leaf-without-position',
    file: 'src/core/audit/leaf.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the source
    find: ',"position":${position}',
    replace: '',
    harm: 'Two events with the same content have the same leaf, so a proof of one is a proof of the other.',
    tests: ['src/core/audit/leaf.test.ts', 'src/core/audit/proof.test.ts'],
  },
  {
    name: 'root-not-signed',
    file: 'src/core/audit/checkpoint.ts',
    find: 'incarnation, position, root, time, key_id].join',
    replace: 'incarnation, position, time, key_id].join',
    harm: 'A signature of one checkpoint is valid for any other root at its position.',
    tests: LOG_AUDIT_TESTS,
  },
  {
    name: 'incarnation-not-raised',
    file: 'src/cli/audit/accept-loss.ts',
    find: '    await store.raiseIncarnation(incarnation);\n',
    replace: '',
    harm: 'Handles of the lost time are accepted after a loss.',
    tests: ACCEPT_LOSS_TESTS,
  },
  {
    name: 'sink-trusted-over-log',
    file: 'src/core/audit/anchor-comparison.ts',
    find: 'entry.agrees = equalBytes(root(), fromBase64url(entry.anchor.root));',
    replace: 'entry.agrees = equalBytes(fromBase64url(entry.anchor.root), fromBase64url(entry.anchor.root));',
    harm: 'A rewritten log agrees with every anchor that it is long enough for.',
    tests: LOG_AUDIT_TESTS,
  },
  {
    name: 'rotation-unsigned',
    file: 'src/core/audit/audit-keys.ts',
    find: 'return this.verify(this.publicKeyOf(key.previous_key_id)!, text, key.signature)',
    replace: 'return text !== key.signature',
    harm: 'Anyone who can write to the log takes over the key of a project.',
    tests: ['src/core/audit/audit-keys.test.ts'],
  },
  {
    name: 'floor-ignored',
    file: 'src/core/claims/generation.ts',
    find: 'Math.max(generation, generation_floor) + 1;',
    replace: 'Math.max(generation, 0 * generation_floor) + 1;',
    harm: 'After an accepted loss, generations of the lost time are granted again.',
    tests: ['src/core/claims/decide.test.ts'],
  },
  {
    name: 'redaction-without-signature',
    file: 'src/core/audit/log-audit.ts',
    find: "return this.keys.isEmpty ? null : { code: 'UNSIGNED_RECORD', detail };",
    replace: "return this.keys.isEmpty || detail !== '' ? null : { code: 'UNSIGNED_RECORD', detail };",
    harm: 'A changed payload in a database is excused as a redaction.',
    tests: LOG_AUDIT_TESTS,
  },
  {
    name: 'sink-compares-positions-only',
    file: 'src/coordinator/audit/sink.ts',
    find: '  one.incarnation > other.incarnation ||\n',
    replace: '',
    harm: 'After a loss no checkpoint reaches the sink until the log is as long as before.',
    tests: ACCEPT_LOSS_TESTS,
  },
];
