import type { TaskClaim } from '../../core/contract/claim-records.js';
import type { CommandContext } from '../context.js';
import { claimColumns } from './overview.js';

export function expiredText(
  claims: readonly TaskClaim[],
  next: string | null,
  { table }: CommandContext,
): string[] {
  if (claims.length === 0) return ['No claim has expired.'];
  const rows = table(claims, claimColumns('Ended (UTC)'));
  return next === null ? [rows] : [rows, `More: gen task expired --after ${next}`];
}
