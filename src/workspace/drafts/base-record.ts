import { z } from 'zod';
import { canonicalJson } from '../../core/canonical-json.js';
import { pathFault } from '../../core/methodology/definition/asset-path.js';
import { MANIFEST_FILES_MAX } from '../../core/methodology/definition/manifest.js';
import type { ProjectFolder } from './draft-paths.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { readBelow } from './safe-read.js';
import { writeBelow } from './safe-write.js';

/** By path, the digest of the shared file that a draft is based on; null if there was no such file. */
export type BaseDigests = Map<string, string | null>;

const PATHS_MAX = 2 * MANIFEST_FILES_MAX;
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const recordSchema = z.strictObject({
  bases: z
    .record(z.string(), digest.nullable())
    .refine((bases) => Object.keys(bases).length <= PATHS_MAX, `at most ${PATHS_MAX} paths`)
    .refine((bases) => Object.keys(bases).every((path) => pathFault(path) === null), 'invalid path'),
});

export async function readBases({ root }: ProjectFolder, path: string): Promise<BaseDigests | DraftRefusal> {
  const read = await readBelow(root, path, { links: 'one' });
  if (read === null) return new Map();
  if (isDraftRefusal(read)) return read;
  try {
    return new Map(Object.entries(recordSchema.parse(JSON.parse(read.bytes.toString('utf8'))).bases));
  } catch {
    return draftRefusal('BAD_BASE', path, `${path} is not a valid record of the draft bases.`);
  }
}

export async function writeBases(
  { root }: ProjectFolder,
  path: string,
  bases: BaseDigests,
): Promise<DraftRefusal | null> {
  const text = `${canonicalJson({ bases: Object.fromEntries(bases) })}\n`;
  if (await writeBelow(root, path, { bytes: Buffer.from(text) })) return null;
  return draftRefusal('SYMLINK', path, `${path} cannot be written: a link or a file blocks its path.`);
}
