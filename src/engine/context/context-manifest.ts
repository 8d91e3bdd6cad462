import { z } from 'zod';
import { engineError } from '../engine-error.js';

/** How a file gets into a prompt: whole, by search for passages, or only by its hash. */
const CONTEXT_INCLUSION = ['verbatim', 'searched', 'not_text'] as const;
/** Why a file is part of the context. Configuration is always passed on whole. */
export const CONTEXT_NEEDS = ['configuration', 'required', 'recommended', 'other'] as const;

const sha256 = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const listedFile = z.strictObject({
  path: z.string().min(1),
  /** The digest of the normalized content; of the file itself if it is not text. */
  sha256,
  /** The size of the normalized content; of the file itself if it is not text. */
  bytes: z.int().min(0),
  /** How the file gets into a prompt. Unrelated to tiers of checks. */
  tier: z.enum(CONTEXT_INCLUSION),
  need: z.enum(CONTEXT_NEEDS),
  /** Normalized text, stored so that the run always uses this version; null if it is not text. */
  text: z.string().nullable(),
});
/** What `load_context` stores: the whole context of a run. */
const manifestSchema = z.strictObject({
  format: z.literal(1),
  context_hash: sha256,
  is_searched: z.boolean(),
  /** The names of files that the edge requires as context and that were not found. */
  missing_required: z.array(z.string()),
  files: z.array(listedFile),
});
type StoredContext = z.output<typeof manifestSchema>;
export type ListedContextFile = z.output<typeof listedFile>;
export type ContextNeed = (typeof CONTEXT_NEEDS)[number];

export const encodeContext = (context: StoredContext): Uint8Array =>
  Buffer.from(`${JSON.stringify(context)}\n`);

export function decodeContext(manifest: Uint8Array): StoredContext {
  try {
    return manifestSchema.parse(JSON.parse(Buffer.from(manifest).toString('utf8')));
  } catch (error) {
    const [why] = (error as Error).message.split('\n', 1);
    throw engineError('failed', `The stored context cannot be read (${why}). Start the run again.`);
  }
}
