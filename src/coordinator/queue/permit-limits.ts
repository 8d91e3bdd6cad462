import type { Limits } from '../../core/claims/policy.js';
import type { GrantLimit } from '../../core/claims/reached-limit.js';
import type { PermitLimit } from '../../stores/store.js';

/** The scopes in which a store counts permits, one per limit. */
export const CLAIMS_SCOPE = 'claims';
export const SESSIONS_SCOPE = 'sessions';
export const trackScope = (track: string): string => `track/${track}`;

/** The limits that a new claim must stay within: the tenant's claims and its active sessions. */
export const tenantPermitLimits = (limits: Limits): readonly PermitLimit[] => [
  { scope: CLAIMS_SCOPE, max: limits.max_concurrent_claims },
  { scope: SESSIONS_SCOPE, max: limits.max_active_sessions },
];

export function limitNameOfScope(scope: string): GrantLimit {
  if (scope === CLAIMS_SCOPE) return 'max_concurrent_claims';
  return scope === SESSIONS_SCOPE ? 'max_active_sessions' : 'max_agents_per_track';
}
