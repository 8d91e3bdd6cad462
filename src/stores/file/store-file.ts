import { StoreBroken, type StoreMeta, StoreRefused, withRaisedIncarnation } from '../store.js';
import { type Disk, readSmallFile, writeAtomically } from './disk.js';
import { STORE_FILE } from './layout.js';

/** The format of the lines that this program writes. It reads every format up to this one. */
export const FORMAT = 2;
/**
 * Format 2, and commits may be durable in the write-ahead log only. A program that does not read the write-ahead log
 * would lose these commits, so it must refuse the folder.
 */
const FORMAT_WITH_WAL = 3;
const SECRET_BYTES = 32;
/** Only the owner may read the secret. */
const OWNER_ONLY = 0o600;

interface StoredMeta extends StoreMeta {
  /** The format of the lines. */
  readonly format: number;
  /** Whether the write-ahead log may have commits that the logs do not have yet. */
  readonly has_wal: boolean;
}

/** Reads the metadata of a store that is to be written, or creates it in a new store. */
export async function openStoreFile(
  disk: Disk,
  root: string,
  random: (size: number) => Uint8Array,
): Promise<StoredMeta> {
  const storedMeta = await readStoreFile(disk, root);
  if (storedMeta !== null) {
    const { format } = storedMeta;
    if (format === FORMAT) return storedMeta;
    throw new StoreRefused(
      `The log in ${root} has format ${format}, and this program writes format ${FORMAT}. ` +
        'Run: gen migrate --store URL',
    );
  }
  const secret = Buffer.from(random(SECRET_BYTES)).toString('hex');
  const created: StoredMeta = { format: FORMAT, has_wal: false, incarnation: 1, secret };
  await writeStoreFile(disk, root, created);
  return created;
}

/** The metadata of an open store. Changes are written one after the other. */
export class StoreFile {
  private lastWrite: Promise<void> = Promise.resolve();

  constructor(
    private readonly disk: Disk,
    private readonly root: string,
    private storedMeta: StoredMeta,
  ) {}

  get meta(): StoredMeta {
    return this.storedMeta;
  }

  setHasWal(hasWal: boolean): Promise<void> {
    return this.write((storedMeta) => ({ ...storedMeta, has_wal: hasWal }));
  }

  raiseIncarnation(incarnation: number): Promise<void> {
    return this.write((storedMeta) => ({ ...storedMeta, ...withRaisedIncarnation(storedMeta, incarnation) }));
  }

  private write(change: (storedMeta: StoredMeta) => StoredMeta): Promise<void> {
    const written = this.lastWrite.then(async () => {
      const changed = change(this.storedMeta);
      await writeStoreFile(this.disk, this.root, changed);
      this.storedMeta = changed;
    });
    this.lastWrite = written.catch(() => {});
    return written;
  }
}

/** Null: there is no store yet. */
export async function readStoreFile(disk: Disk, root: string): Promise<StoredMeta | null> {
  const path = `${root}/${STORE_FILE}`;
  const text = await readSmallFile(disk, path);
  return text === null ? null : parseStoreFile(text, path);
}

/** Writes the metadata, durably and atomically. */
export async function writeStoreFile(
  disk: Disk,
  root: string,
  { format, has_wal, ...meta }: StoredMeta,
): Promise<void> {
  const text = JSON.stringify({ format: has_wal ? FORMAT_WITH_WAL : format, ...meta });
  await writeAtomically(disk, root, STORE_FILE, `${text}\n`, OWNER_ONLY);
}

function parseStoreFile(text: string, path: string): StoredMeta {
  let storedMeta: Partial<StoredMeta>;
  try {
    storedMeta = JSON.parse(text) as typeof storedMeta;
  } catch {
    storedMeta = {};
  }
  const { format, incarnation, secret } = storedMeta;
  if (format !== undefined && format !== 1 && format !== FORMAT && format !== FORMAT_WITH_WAL) {
    throw new StoreBroken(
      `${path} has format ${format}; this version reads formats 1 to ${FORMAT_WITH_WAL}. Use the version that wrote it.`,
    );
  }
  if (format === undefined || !Number.isSafeInteger(incarnation) || !/^[0-9a-f]{64}$/.test(secret ?? '')) {
    throw new StoreBroken(
      `${path} is damaged. Restore it from a backup: claim ids are derived from the secret in it.`,
    );
  }
  return {
    format: Math.min(format, FORMAT),
    has_wal: format === FORMAT_WITH_WAL,
    incarnation: incarnation as number,
    secret: secret as string,
  };
}
