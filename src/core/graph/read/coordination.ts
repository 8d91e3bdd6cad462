import { z } from 'zod';
import type { ClaimTimes, CoordinationMode } from '../methodology.js';
import { flag } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const seconds = z
  .int()
  .min(1)
  .max(366 * 86_400);
const schema = z
  .object({
    coordination: z.object({ mode: z.enum(['single', 'multi']).nullish() }).nullish(),
    parallelism: z.object({ enforce: flag.nullish() }).nullish(),
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

export interface Coordination {
  readonly mode: CoordinationMode | null;
  readonly enforce: boolean;
  readonly claims: ClaimTimes;
}

export function readCoordination(file: YamlFile): Coordination | null {
  if (file.value !== null && file.fits(schema) === null) return null;
  const said = schema.parse(file.value);
  const claims = Object.fromEntries(
    Object.entries(said?.claims ?? {}).filter(([, value]) => value !== null && value !== undefined),
  ) as ClaimTimes;
  const { stale_threshold_seconds: stale, claim_ttl_seconds: ttl } = claims;
  if (stale !== undefined && ttl !== undefined && stale >= ttl) {
    const said = `A claim is stale before its lease ends: ${stale} is not below claim_ttl_seconds, ${ttl}.`;
    file.fault(['claims', 'stale_threshold_seconds'], said);
  }
  return { mode: said?.coordination?.mode ?? null, enforce: said?.parallelism?.enforce ?? false, claims };
}
