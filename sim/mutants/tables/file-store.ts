import type { Mutant } from '../mutant.js';

const STORE = 'src/stores/file/file-store.ts';
const LOG = 'src/stores/file/project-log.ts';
const FILES = 'src/stores/file/log-files.ts';
const LOG_CHECK = 'src/stores/file/log-check.ts';
const APPEND = 'src/stores/file/append.ts';
const RECOVERY = 'src/stores/file/recovery.ts';
const DISK = 'src/stores/file/disk.ts';
const SNAPSHOT = 'src/stores/file/snapshot.ts';
const FORMAT_1_TESTS = ['src/stores/file/format-1.test.ts'];
const FOREIGN_LINES_TESTS = ['src/stores/file/foreign-lines.test.ts'];

/** Faults in how the log is written to disk and recovered. */
export const FILE_MUTANTS: readonly Mutant[] = [
  {
    name: 'reply-before-durable',
    file: STORE,
    find: '      await Promise.all([...touchedLogs].map((touched) => touched.durable()));\n',
    replace: '',
    harm: 'A grant is acknowledged and then lost in a power failure.',
    tests: ['src/stores/file/faults.test.ts'],
  },
  {
    name: 'log-not-synced',
    file: APPEND,
    find: 'Promise.all([file.size(), file.sync()])',
    replace: 'Promise.all([file.size()])',
    harm: 'Acknowledged data is only in the page cache of the operating system.',
  },
  {
    name: 'failed-sync-ignored',
    file: APPEND,
    find: 'Promise.all([file.size(), file.sync()])',
    replace: 'Promise.all([file.size(), file.sync().catch(() => {})])',
    harm: 'A grant is acknowledged although the disk reported a write error.',
  },
  {
    name: 'names-not-synced',
    file: FILES,
    find: '      if (!this.isNamed) await this.syncParentFolders();\n',
    replace: '',
    harm: 'The log is on disk, but its directory entry is not durable.',
  },
  {
    name: 'closed-segment-not-synced',
    file: FILES,
    find: '        await this.disk.syncFolder(segments);\n        await this.disk.syncFolder(this.folder);\n',
    replace: '',
    harm: 'A power failure loses the directory entry of a full segment.',
  },
  {
    name: 'recovered-tail-not-synced',
    file: RECOVERY,
    find: 'await files.useActive((file) => file.sync());',
    replace: 'await files.useActive(async () => {});',
    harm: 'Recovered data is acknowledged and lost in the next power failure.',
  },
  {
    name: 'seal-not-checked',
    file: LOG_CHECK,
    find: 'if (digest !== null && digest !== seal.seal)',
    replace: "if (digest === '')",
    harm: 'A corrupted block is accepted as history.',
  },
  {
    name: 'torn-block-applied',
    file: RECOVERY,
    find: '  const wholeBytes = Math.max(0, Math.min(replay.committedEnd - segment.start, size));\n',
    replace:
      '  if (damage === null && replay.check.isWithinBlock) {\n' +
      "    replay.check['finishPending'](0);\n" +
      '    replay.committedEnd = segment.start + end;\n' +
      '  }\n' +
      '  const wholeBytes = Math.max(0, Math.min(replay.committedEnd - segment.start, size));\n',
    harm: 'A crash leaves lines that were never sealed, and they become history.',
  },
  {
    name: 'v1-chain-not-checked',
    file: LOG_CHECK,
    find: "    if (line.prev !== this.v1Hash) return faultAt(location, 'it does not continue the line before it');\n",
    replace: '',
    harm: 'A format-1 line that was replaced is accepted as history.',
    tests: FORMAT_1_TESTS,
  },
  {
    name: 'v1-hash-not-checked',
    file: 'src/stores/file/line-v1.ts',
    find: 'if (base64urlDigest(bytes.subarray(V1_HASHED_FROM, payloadIndex)) !== hash)',
    replace: 'if (false)',
    harm: 'A corrupted format-1 line is accepted as history.',
    tests: FORMAT_1_TESTS,
  },
  {
    name: 'block-read-without-its-seal',
    file: 'src/stores/file/block-reader.ts',
    find: "  return isIntact ? null : 'the seal does not match';\n",
    replace: '  return isIntact ? null : null;\n',
    harm: 'A line that was changed on disk is served to readers.',
    tests: FOREIGN_LINES_TESTS,
  },
  {
    name: 'foreign-line-not-sealed',
    file: LOG,
    find: 'coverOf(covered)',
    replace: 'coverOf([])',
    harm: 'A line of another program can be changed or removed without a trace.',
    tests: FOREIGN_LINES_TESTS,
  },
  {
    name: 'foreign-cover-not-checked',
    file: LOG_CHECK,
    find: 'if (digest !== null && !coversLines(seal.foreign, end.foreign))',
    replace: "if (digest === '')",
    harm: 'A line of another program that was changed is accepted.',
    tests: FOREIGN_LINES_TESTS,
  },
  {
    name: 'foreign-line-before-a-write-missed',
    file: APPEND,
    find: 'if (size === expected + bytes.length)',
    replace: 'if (size >= expected)',
    harm: 'A line that another program appends at the same time makes the next lines unreadable.',
    tests: FOREIGN_LINES_TESTS,
  },
  {
    name: 'foreign-lines-cut-with-torn-ones',
    file: 'src/stores/file/torn-tail.ts',
    find: 'lines.filter(({ isOwn }) => !isOwn)',
    replace: 'lines.filter(() => false)',
    harm: 'A crash loses lines that another program appended.',
    tests: FOREIGN_LINES_TESTS,
  },
  {
    name: 'durable-part-cut-off',
    file: RECOVERY,
    find: 'if (wholeBytes < durable.bytes || position < durable.position) {',
    replace: 'if (wholeBytes < 0) {',
    harm: 'Damage in the middle of the log silently discards all later events.',
  },
  {
    name: 'torn-tail-left',
    file: RECOVERY,
    find: '    : await cutTornTail(context, path, replay, segment);\n',
    replace: '    : null;\n',
    harm: 'The next line is appended to an incomplete one.',
  },
  {
    name: 'failed-batch-stays-in-memory',
    file: LOG,
    find: '        await this.reload();\n',
    replace: '        await this.log.files.truncateToDurable(Buffer.alloc(0), 0);\n',
    harm: 'A write that the disk refused stays in memory, and positions have a gap.',
  },
  {
    name: 'failed-batch-not-cut-back',
    file: LOG,
    find: '      await files.truncateToDurable(this.flushingBatch.bytes, this.options.key, state.index.position);\n',
    replace: '',
    harm: 'A command that was reported as failed appears in the log later.',
  },
  {
    name: 'snapshot-before-durable',
    file: SNAPSHOT,
    find: '  await whenDurable();\n',
    replace: '',
    harm: 'The snapshot contains commits that the log lost in a power failure.',
  },
  {
    name: 'snapshot-not-synced',
    file: DISK,
    find: '    await file.sync();\n',
    replace: '',
    harm: 'A snapshot that is not durable is used as the start of the log.',
  },
  {
    name: 'second-writer-let-in',
    file: STORE,
    find: '  if (lock === null) throw await storeInUseError(disk, root);\n  return lock;\n',
    replace: '  return lock as Lock;\n',
    harm: 'Two processes write to one log.',
  },
];
