import { StoreBroken, type StoreMeta, StoreRefused } from '../store.js';
import { type Disk, readSmallFile, writeAtomically } from './disk.js';
import { STORE_FILE } from './layout.js';

/** The format of the lines that this program writes. It reads every format up to this one. */
export const FORMAT = 2;
const SECRET_BYTES = 32;
/** Only the owner may read the secret. */
const OWNER_ONLY = 0o600;

export interface StoredMeta extends StoreMeta {
  readonly format: number;
}

/** Reads the metadata of a store that is to be written, or creates it in a new store. */
export async function openStoreFile(
  disk: Disk,
  root: string,
  random: (size: number) => Uint8Array,
): Promise<StoreMeta> {
  const stored = await readStoreFile(disk, root);
  if (stored !== null) {
    const { format, ...meta } = stored;
    if (format === FORMAT) return meta;
    throw new StoreRefused(
      `The log in ${root} has format ${format}, and this program writes format ${FORMAT}. ` +
        'Run: gen migrate --store URL',
    );
  }
  const meta: StoreMeta = { incarnation: 1, secret: Buffer.from(random(SECRET_BYTES)).toString('hex') };
  await writeStoreFile(disk, root, { format: FORMAT, ...meta });
  return meta;
}

/** Null: there is no store yet. */
export async function readStoreFile(disk: Disk, root: string): Promise<StoredMeta | null> {
  const path = `${root}/${STORE_FILE}`;
  const text = await readSmallFile(disk, path);
  return text === null ? null : parse(text, path);
}

/** Durable and atomic. */
export async function writeStoreFile(disk: Disk, root: string, stored: StoredMeta): Promise<void> {
  await writeAtomically(disk, root, STORE_FILE, `${JSON.stringify(stored)}\n`, OWNER_ONLY);
}

function parse(text: string, path: string): StoredMeta {
  let stored: Partial<StoredMeta>;
  try {
    stored = JSON.parse(text) as typeof stored;
  } catch {
    stored = {};
  }
  const { format, incarnation, secret } = stored;
  if (format !== undefined && format !== 1 && format !== FORMAT) {
    throw new StoreBroken(
      `${path} has format ${format}; this version reads formats 1 and ${FORMAT}. Use the version that wrote it.`,
    );
  }
  if (format === undefined || !Number.isSafeInteger(incarnation) || !/^[0-9a-f]{64}$/.test(secret ?? '')) {
    throw new StoreBroken(
      `${path} is damaged. Restore it from a backup: claim ids are derived from the secret in it.`,
    );
  }
  return { format, incarnation: incarnation as number, secret: secret as string };
}
