import type { Mutant } from '../mutant.js';

const GROUPS = 'src/stores/file/wal/group-commit.ts';
const WAL = 'src/stores/file/wal/write-ahead-log.ts';
const STORE = 'src/stores/file/file-store.ts';
const LOG = 'src/stores/file/project-log.ts';
const GROUP_TESTS = ['src/stores/file/wal/group-commit.test.ts'];
const REPLAY_TESTS = ['src/stores/file/wal/replay-wal.test.ts'];
const CRASH_TESTS = ['test/file-store/crash-at-every-step.test.ts'];

/** Faults in how one sync makes the batches of several projects durable. */
export const WAL_MUTANTS: readonly Mutant[] = [
  {
    name: 'reply-before-wal-durable',
    file: WAL,
    find: '      await file.sync();\n      this.bytes += bytes.length;\n',
    replace: '      this.bytes += bytes.length;\n',
    harm: 'A grant is acknowledged while it is only in the page cache of the operating system.',
  },
  {
    name: 'wal-not-replayed',
    file: STORE,
    find: '    await replayWal(disk, layout);\n',
    replace: '',
    harm: 'A power failure loses what only the write-ahead log made durable.',
  },
  {
    name: 'wal-emptied-before-files-are-synced',
    file: GROUPS,
    find: '      await Promise.all(Array.from({ length: SYNCS_AT_ONCE }, syncNextFiles));\n',
    replace: '      void syncNextFiles;\n',
    harm: 'The write-ahead log is emptied while the logs are only in the page cache.',
  },
  {
    name: 'wal-not-emptied-before-redaction',
    file: LOG,
    find: '      await this.options.groups.emptyWal();\n',
    replace: '',
    harm: 'A redacted payload stays readable in the write-ahead log.',
    tests: REPLAY_TESTS,
  },
  {
    name: 'failed-group-replayed',
    file: WAL,
    find: '        await file.truncate(this.bytes);\n        await file.sync();\n',
    replace: '',
    harm: 'Commands that were reported as failed take effect at the next start.',
    tests: GROUP_TESTS,
  },
  {
    name: 'segment-closed-before-it-is-synced',
    file: 'src/stores/file/log-files.ts',
    find: '      await file.sync();\n      const segments',
    replace: '      const segments',
    harm: 'A power failure loses the end of a closed segment, which the write-ahead log does not cover.',
    tests: CRASH_TESTS,
  },
  {
    name: 'older-programs-not-refused',
    file: WAL,
    find: '    if (!this.isMarked) await this.markStore(true);\n',
    replace: '',
    harm: 'An older program opens the folder without what only the write-ahead log has.',
    tests: GROUP_TESTS,
  },
  {
    name: 'foreign-lines-not-in-the-wal',
    file: 'src/stores/file/append.ts',
    find: '[...foreign, written.bytes]',
    replace: '[written.bytes]',
    harm: 'A power failure loses lines of other programs that a seal covers, and the log is refused.',
    tests: REPLAY_TESTS,
  },
  {
    name: 'damaged-wal-accepted',
    file: 'src/stores/file/wal/replay-wal.ts',
    find: '  if (damage !== null) throw',
    replace: '  if (damage?.line === 0) throw',
    harm: 'Durable commits behind a damaged record are discarded without an error.',
    tests: REPLAY_TESTS,
  },
];
