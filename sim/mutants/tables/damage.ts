import type { Mutant } from '../mutant.js';

const DAMAGE_TESTS = ['test/security/damaged-log.test.ts'];
const LOG_READER = 'src/stores/file/log-reader.ts';

/** Faults in the detection and reporting of log damage. The simulator damages a log only before it is opened. */
export const DAMAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'redaction-without-its-event',
    file: 'src/stores/file/recovery.ts',
    find: 'if (unrecorded !== undefined)',
    replace: 'if (unrecorded?.offset === -1)',
    harm: 'A payload that was rewritten on disk is accepted although no event records it.',
    tests: DAMAGE_TESTS,
  },
  {
    name: 'redaction-of-old-lines-unchecked',
    file: LOG_READER,
    find: 'if (isRedacted && !(await isRecordedRedaction(log, event))) {',
    replace: 'if (isRedacted && event.position < 0) {',
    harm: 'A redaction that the log does not record is accepted in lines before a snapshot, which are read only on request.',
    tests: DAMAGE_TESTS,
  },
  {
    name: 'cut-lines-left-out',
    file: 'src/stores/file/log-reader-v1.ts',
    find: 'if (missing !== undefined) throw',
    replace: 'if (missing === -1) throw',
    harm: 'A truncated log in format 1 is served as if it were complete.',
    tests: ['src/stores/file/format-1.test.ts'],
  },
  {
    name: 'damage-told-as-doubt',
    file: 'src/coordinator/wire/problem.ts',
    find: 'if (!(error instanceof LogDamaged)) return null;',
    replace: 'if (!(error instanceof LogDamaged) || error.damage.line > 0) return null;',
    harm: 'Agents retry their commands for ever, and nothing reports that the log is damaged.',
    tests: DAMAGE_TESTS,
  },
  {
    name: 'cursor-ahead-waits',
    file: 'src/coordinator/queries/feed.ts',
    find: 'if (end >= position) return null;',
    replace: 'if (end >= 0) return null;',
    harm: 'After a restored backup followers wait for positions that now belong to other events.',
    tests: DAMAGE_TESTS,
  },
];
