import { z } from 'zod';
import type { ClaimTimeouts, CoordinationMode } from '../methodology.js';
import { booleanField } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const seconds = z
  .int()
  .min(1)
  .max(366 * 86_400);
const schema = z
  .object({
    coordination: z.object({ mode: z.enum(['single', 'multi']).nullish() }).nullish(),
    parallelism: z.object({ enforce: booleanField.nullish() }).nullish(),
    claims: z
      .object({
        stale_threshold_seconds: seconds.nullish(),
        claim_ttl_seconds: seconds.nullish(),
        on_ttl: z.enum(['hold', 'takeover']).nullish(),
        max_hold_seconds: seconds.nullish(),
      })
      .nullish(),
  })
  .nullable();

export interface ParsedCoordination {
  readonly mode: CoordinationMode | null;
  readonly enforce: boolean;
  readonly claims: ClaimTimeouts;
}

export function parseCoordination(file: YamlFile): ParsedCoordination | null {
  if (file.value !== null && file.parse(schema) === null) return null;
  const parsed = schema.parse(file.value);
  const claims = Object.fromEntries(
    Object.entries(parsed?.claims ?? {}).filter(([, value]) => value !== null && value !== undefined),
  ) as ClaimTimeouts;
  const { stale_threshold_seconds: stale, claim_ttl_seconds: ttl } = claims;
  if (stale !== undefined && ttl !== undefined && stale >= ttl) {
    const parsed = `A claim is stale before its lease ends: ${stale} is not below claim_ttl_seconds, ${ttl}.`;
    file.fault(['claims', 'stale_threshold_seconds'], parsed);
  }
  return { mode: parsed?.coordination?.mode ?? null, enforce: parsed?.parallelism?.enforce ?? false, claims };
}
