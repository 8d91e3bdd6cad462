import type { Head } from '../../core/claims/head.js';
import { occupiedUntilMs } from '../../core/claims/lease.js';
import { DEFAULT_LIMITS, rulesFor } from '../../core/claims/policy.js';
import { kindOf, POLICY_SUBJECT } from '../../core/subject.js';
import type { WorkState } from '../../core/views/index.js';
import type { Slot } from '../../stores/store.js';
import { policyOf } from '../desk.js';
import { CLAIMS_SCOPE, SESSIONS_SCOPE, trackScope } from '../rooms.js';

/** The places that the claims of a project take, as its commits would have told a store one by one. */
export function placesOf(state: WorkState): Slot[] {
  const policy = policyOf(state.records.get(POLICY_SUBJECT) ?? null);
  const places = new Map<string, Slot>();
  const take = (scope: string, member: string, until_ms: number) => {
    const name = `${scope}\n${member}`;
    const known_ms = places.get(name)?.until_ms ?? 0;
    places.set(name, { scope, member, until_ms: Math.max(known_ms, until_ms) });
  };
  for (const subject of state.live) {
    const head = state.heads.get(subject) as Head;
    const until_ms = occupiedUntilMs(head, rulesFor(kindOf(subject), policy, DEFAULT_LIMITS, 0));
    if (head.claim === null || until_ms === null) continue;
    take(CLAIMS_SCOPE, subject, until_ms);
    take(SESSIONS_SCOPE, head.claim.session_id, until_ms);
    const track = state.plan.get(subject)?.task.track;
    if (policy.max_agents_per_track !== null && track !== undefined) {
      take(trackScope(track), head.claim.agent_id, until_ms);
    }
  }
  return [...places.values()];
}
