import { StoreBroken, type StoreMeta } from '../store.js';
import { type Disk, readSmallFile, writeAtomically } from './disk.js';
import { STORE_FILE } from './layout.js';

const FORMAT = 1;
const SECRET_BYTES = 32;
/** Only the owner may read the secret. */
const OWNER_ONLY = 0o600;

/** Reads the metadata of the store as a whole, or creates it in a new store. */
export async function openStoreFile(
  disk: Disk,
  root: string,
  random: (size: number) => Uint8Array,
): Promise<StoreMeta> {
  const text = await readSmallFile(disk, `${root}/${STORE_FILE}`);
  if (text !== null) return parse(text, `${root}/${STORE_FILE}`);
  const meta: StoreMeta = { incarnation: 1, secret: Buffer.from(random(SECRET_BYTES)).toString('hex') };
  const content = `${JSON.stringify({ format: FORMAT, ...meta })}\n`;
  await writeAtomically(disk, root, STORE_FILE, content, OWNER_ONLY);
  return meta;
}

function parse(text: string, path: string): StoreMeta {
  let stored: Partial<StoreMeta & { format: number }>;
  try {
    stored = JSON.parse(text) as typeof stored;
  } catch {
    stored = {};
  }
  const { format, incarnation, secret } = stored;
  if (format !== undefined && format !== FORMAT) {
    throw new StoreBroken(
      `${path} has format ${format}; this version reads format ${FORMAT}. Use the version that wrote it.`,
    );
  }
  if (format === undefined || !Number.isSafeInteger(incarnation) || !/^[0-9a-f]{64}$/.test(secret ?? '')) {
    throw new StoreBroken(
      `${path} is damaged. Restore it from a backup: claim ids are derived from the secret in it.`,
    );
  }
  return { incarnation: incarnation as number, secret: secret as string };
}
