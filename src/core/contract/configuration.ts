import { z } from 'zod';
import { requestIdSchema } from '../ids.js';
import { configFault } from './problem.js';
import { boundedText, count, mutationFields, type ReplyOf, withName } from './schema.js';

/** The YAML files of a workspace, by path below `.ai-workspace/`. The parser of the files limits their number and length. */
export const configureBody = z.strictObject({
  files: z.record(boundedText(1024), z.string()),
  unreadable: z
    .record(boundedText(1024), boundedText(1024))
    .optional()
    .describe(
      'files that exist but could not be read, each with the reason; work that depends on them is refused',
    ),
  ...mutationFields,
  // Leaves space for an index: the features are written in several transactions, each with its own request id.
  request_id: requestIdSchema.max(120).optional(),
});
export const configureResult = withName(
  'Configuration',
  z.object({
    success: z.literal(true),
    /** UNCHANGED: the records already match the files, and nothing was written. */
    reason: z.enum(['CONFIGURED', 'UNCHANGED']),
    /** Number of changes to the methodology so far. */
    version: count,
    feature_count: count,
    features_changed: count,
    warnings: z.array(configFault),
    faults: z
      .array(configFault)
      .describe('faults of single files: work that depends on these files is refused, the rest is in effect'),
  }),
);
export type ConfigureResult = ReplyOf<typeof configureResult>;
