import type { Mutant } from '../mutant.js';

const STORE = 'src/stores/file/file-store.ts';
const LOG = 'src/stores/file/project-log.ts';
const FILES = 'src/stores/file/log-files.ts';
const CHAIN = 'src/stores/file/chain.ts';
const CHAIN_CHECK = 'src/stores/file/chain-check.ts';
const RECOVERY = 'src/stores/file/recovery.ts';
const SNAPSHOT = 'src/stores/file/snapshot.ts';

/** Faults in how the log is written to disk and recovered. */
export const FILE_MUTANTS: readonly Mutant[] = [
  {
    name: 'reply-before-durable',
    file: STORE,
    find: '      await Promise.all([...touchedLogs].map((touched) => touched.durable()));\n',
    replace: '',
    why: 'A grant is told, the power fails, and nobody knows of it any more.',
  },
  {
    name: 'log-not-synced',
    file: LOG,
    find: '    await file.sync();\n',
    replace: '',
    why: 'What was told is only in the memory of the operating system.',
  },
  {
    name: 'failed-sync-ignored',
    file: LOG,
    find: '    await file.sync();\n',
    replace: '    await file.sync().catch(() => {});\n',
    why: 'The disk says that it could not write, and the grant is told all the same.',
  },
  {
    name: 'names-not-synced',
    file: FILES,
    find: '      await this.syncParentFolders();\n',
    replace: '',
    why: 'The log is on the disk, and the folder does not know of it.',
  },
  {
    name: 'sealed-segment-not-synced',
    file: FILES,
    find: '    await this.disk.syncFolder(segments);\n    await this.disk.syncFolder(this.folder);\n',
    replace: '',
    why: 'A full segment loses its name with the power.',
  },
  {
    name: 'recovered-tail-not-synced',
    file: RECOVERY,
    find: 'await (await files.openActive()).sync();',
    replace: 'await files.openActive();',
    why: 'What was found after a crash is told, and gone after the next loss of power.',
  },
  {
    name: 'half-a-unit-taken',
    file: CHAIN_CHECK,
    find: 'const { part, parts } = transactionPart(line.log.unit);',
    replace: 'const { part, parts } = { part: 1, parts: 1 };',
    why: 'Of what should happen as a whole or not at all, a crash leaves one half.',
  },
  {
    name: 'chain-not-checked',
    file: CHAIN,
    find: "  if (log.prev !== hash) return 'it does not continue the line before it';\n",
    replace: '',
    why: 'A line that somebody replaced by another is taken for the history.',
  },
  {
    name: 'line-hash-not-checked',
    file: 'src/stores/file/line.ts',
    find: `if (digestOf(bytes.subarray(CHAIN_START, cut)) !== ownHash) return 'its hash does not match its text';`,
    replace: '',
    why: 'Rot in the log is taken for the history.',
  },
  {
    name: 'durable-part-cut-off',
    file: RECOVERY,
    find: 'if (wholeBytes < durable.bytes || replay.state.ledger.position < durable.position) {',
    replace: 'if (wholeBytes < 0) {',
    why: 'Damage in the middle of the log silently throws away all that followed.',
  },
  {
    name: 'torn-tail-left',
    file: RECOVERY,
    find: '  if (wholeBytes < size) await cutTornTail(ctx, path, file, wholeBytes, replay.state.ledger.position);\n',
    replace: '',
    why: 'The next line is written behind the rest of a torn one.',
  },
  {
    name: 'failed-batch-stays-in-memory',
    file: LOG,
    find: '        await this.reload();\n',
    replace: '        await this.log.files.truncateToDurable();\n',
    why: 'What the disk refused is in memory, and positions have a gap.',
  },
  {
    name: 'failed-batch-not-cut-back',
    file: LOG,
    find: '    await files.truncateToDurable();\n',
    replace: '',
    why: 'Whoever was told that nothing happened finds it in the log later.',
  },
  {
    name: 'snapshot-before-durable',
    file: SNAPSHOT,
    find: '  await whenDurable();\n',
    replace: '',
    why: 'The snapshot knows of commits that the log lost with the power.',
  },
  {
    name: 'snapshot-not-synced',
    file: SNAPSHOT,
    find: '    await file.sync();\n',
    replace: '',
    why: 'A snapshot that is not on the disk is taken for the beginning of the log.',
  },
  {
    name: 'second-writer-let-in',
    file: STORE,
    find: '  if (lock === null) throw await storeInUseError(disk, root);\n',
    replace: '',
    why: 'Two processes write one log.',
  },
];
