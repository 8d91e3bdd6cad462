import type { Mutant } from '../mutant.js';

const STORE = 'src/stores/file/file-store.ts';
const LOG = 'src/stores/file/project-log.ts';
const FILES = 'src/stores/file/log-files.ts';
const CHAIN_CHECK = 'src/stores/file/chain-check.ts';
const RECOVERY = 'src/stores/file/recovery.ts';
const DISK = 'src/stores/file/disk.ts';
const SNAPSHOT = 'src/stores/file/snapshot.ts';

/** Faults in how the log is written to disk and recovered. */
export const FILE_MUTANTS: readonly Mutant[] = [
  {
    name: 'reply-before-durable',
    file: STORE,
    find: '      await Promise.all([...touchedLogs].map((touched) => touched.durable()));\n',
    replace: '',
    why: 'A grant is acknowledged and then lost in a power failure.',
  },
  {
    name: 'log-not-synced',
    file: LOG,
    find: '    await file.sync();\n',
    replace: '',
    why: 'Acknowledged data is only in the page cache of the operating system.',
  },
  {
    name: 'failed-sync-ignored',
    file: LOG,
    find: '    await file.sync();\n',
    replace: '    await file.sync().catch(() => {});\n',
    why: 'A grant is acknowledged although the disk reported a write error.',
  },
  {
    name: 'names-not-synced',
    file: FILES,
    find: '      if (!this.isNamed) await this.syncParentFolders();\n',
    replace: '',
    why: 'The log is on disk, but its directory entry is not durable.',
  },
  {
    name: 'sealed-segment-not-synced',
    file: FILES,
    find: '    await this.disk.syncFolder(segments);\n    await this.disk.syncFolder(this.folder);\n',
    replace: '',
    why: 'A power failure loses the directory entry of a full segment.',
  },
  {
    name: 'recovered-tail-not-synced',
    file: RECOVERY,
    find: 'await files.useActive((file) => file.sync());',
    replace: 'await files.useActive(async () => {});',
    why: 'Recovered data is acknowledged and lost in the next power failure.',
  },
  {
    name: 'half-a-unit-taken',
    file: CHAIN_CHECK,
    find: 'const { part, parts } = transactionPart(line.log.unit);',
    replace: 'const { part, parts } = { part: 1, parts: 1 };',
    why: 'A crash leaves part of an atomic transaction.',
  },
  {
    name: 'chain-not-checked',
    file: CHAIN_CHECK,
    find: "    if (log.prev !== hash) return 'it does not continue the line before it';\n",
    replace: '',
    why: 'A replaced line is accepted as history.',
  },
  {
    name: 'line-hash-not-checked',
    file: 'src/stores/file/line.ts',
    find: `if (digestOf(bytes.subarray(CHAIN_START, cut)) !== ownHash) return 'its hash does not match its text';`,
    replace: '',
    why: 'A corrupted line is accepted as history.',
  },
  {
    name: 'durable-part-cut-off',
    file: RECOVERY,
    find: 'if (wholeBytes < durable.bytes || replay.state.ledger.position < durable.position) {',
    replace: 'if (wholeBytes < 0) {',
    why: 'Damage in the middle of the log silently discards all later events.',
  },
  {
    name: 'torn-tail-left',
    file: RECOVERY,
    find: '  if (wholeBytes < size) await cutTornTail(ctx, path, file, wholeBytes, replay.state.ledger.position);\n',
    replace: '',
    why: 'The next line is appended to an incomplete one.',
  },
  {
    name: 'failed-batch-stays-in-memory',
    file: LOG,
    find: '        await this.reload();\n',
    replace: '        await this.log.files.truncateToDurable();\n',
    why: 'A write that the disk refused stays in memory, and positions have a gap.',
  },
  {
    name: 'failed-batch-not-cut-back',
    file: LOG,
    find: '    await files.truncateToDurable();\n',
    replace: '',
    why: 'A command that was reported as failed appears in the log later.',
  },
  {
    name: 'snapshot-before-durable',
    file: SNAPSHOT,
    find: '  await whenDurable();\n',
    replace: '',
    why: 'The snapshot contains commits that the log lost in a power failure.',
  },
  {
    name: 'snapshot-not-synced',
    file: DISK,
    find: '    await file.sync();\n',
    replace: '',
    why: 'A snapshot that is not durable is used as the start of the log.',
  },
  {
    name: 'second-writer-let-in',
    file: STORE,
    find: '  if (lock === null) throw await storeInUseError(disk, root);\n',
    replace: '',
    why: 'Two processes write to one log.',
  },
];
