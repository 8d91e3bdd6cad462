import { z } from 'zod';
import { VERSION_RELEASE_REFUSALS } from './codes.js';
import {
  actorFields,
  anyText,
  boundedCount,
  contextHash,
  doneFields,
  refusedFields,
  SEMVER,
  singleLineText,
} from './methodology-fields.js';
import { count, type ReplyOf, time, withName } from './schema.js';

export const versionReleaseBody = z.strictObject({
  version: z.string().max(160, { abort: true }).regex(SEMVER, { error: 'expected a version such as 1.2.0' }),
  dry_run: z.boolean().optional(),
  git_tag: singleLineText(200).optional(),
  context_hash: contextHash.optional(),
  coverage_pct: z.number().min(0).max(100).optional(),
  known_gaps: boundedCount.optional(),
  ...actorFields,
});
const readinessCheck = z.object({
  name: anyText,
  passed: z.boolean(),
  /** Whether something is missing that a release usually has, although the check passes. */
  lacking: z.boolean(),
  says: anyText,
});
const releaseManifest = z.object({
  version: anyText,
  date: time,
  context_hash: anyText.nullable(),
  git_tag: anyText.nullable(),
  features_included: z.array(anyText),
  coverage_pct: z.number().nullable(),
  known_gaps: count.nullable(),
});
export const versionReleaseReply = withName(
  'Release',
  z.discriminatedUnion('reason', [
    z.object({
      ...doneFields,
      /** READY for a dry run. */
      reason: z.enum(['RELEASED', 'READY']),
      version: anyText,
      readiness: z.array(readinessCheck),
      release: releaseManifest,
    }),
    z.object({
      ...refusedFields,
      reason: z.enum(VERSION_RELEASE_REFUSALS),
      version: anyText,
      readiness: z.array(readinessCheck),
      release: z.null(),
    }),
  ]),
);
export type VersionReleaseBody = z.input<typeof versionReleaseBody>;
export type ReadinessCheck = ReplyOf<typeof readinessCheck>;
export type ReleaseManifest = ReplyOf<typeof releaseManifest>;
export type VersionReleaseReply = ReplyOf<typeof versionReleaseReply>;
