import { z } from 'zod';
import type { ClaimTimeouts, Methodology } from '../methodology.js';
import { optionalSection, orElse } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const seconds = z
  .int()
  .min(1)
  .max(366 * 86_400)
  .nullish();
const schema = optionalSection({
  coordination: optionalSection({ mode: orElse(z.enum(['single', 'multi']), 'multi') }),
  parallelism: optionalSection({ enforce: orElse(z.boolean(), false) }),
  claims: optionalSection({
    stale_threshold_seconds: seconds,
    claim_ttl_seconds: seconds,
    on_ttl: z.enum(['hold', 'takeover']).nullish(),
    max_hold_seconds: seconds,
  }),
});

export function parseCoordination(
  file: YamlFile,
): Pick<Methodology, 'mode' | 'parallelism' | 'claims'> | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const { stale_threshold_seconds: staleSeconds, claim_ttl_seconds: ttlSeconds } = parsed.claims;
  if (staleSeconds != null && ttlSeconds != null && staleSeconds >= ttlSeconds) {
    const message = `stale_threshold_seconds (${staleSeconds}) must be below claim_ttl_seconds (${ttlSeconds}).`;
    file.fault(['claims', 'stale_threshold_seconds'], message);
  }
  const claims = Object.entries(parsed.claims).filter(([, value]) => value != null);
  return {
    mode: parsed.coordination.mode,
    parallelism: parsed.parallelism,
    claims: Object.fromEntries(claims) as ClaimTimeouts,
  };
}
