import type { Limits } from '../core/claims/policy.js';
import type { PermitLimit } from '../stores/store.js';

/** The scopes in which a store counts who is there, and the limit each stands for. */
export const CLAIMS_SCOPE = 'claims';
export const SESSIONS_SCOPE = 'sessions';
export const trackScope = (track: string): string => `track/${track}`;

/** Whoever takes a place takes it among the claims and among the sessions of the tenant. */
export const tenantPermitLimits = (limits: Limits): readonly PermitLimit[] => [
  { scope: CLAIMS_SCOPE, max: limits.max_concurrent_claims },
  { scope: SESSIONS_SCOPE, max: limits.max_active_sessions },
];

export function limitNameOfScope(scope: string): string {
  if (scope === CLAIMS_SCOPE) return 'max_concurrent_claims';
  return scope === SESSIONS_SCOPE ? 'max_active_sessions' : 'max_agents_per_track';
}
