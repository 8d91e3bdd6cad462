import type { Head } from '../../core/claims/head.js';
import { permitHeldUntilMs } from '../../core/claims/lease.js';
import { DEFAULT_LIMITS, rulesFor } from '../../core/claims/policy.js';
import { POLICY_SUBJECT, subjectKindOf } from '../../core/subject.js';
import type { WorkState } from '../../core/views/index.js';
import type { Permit } from '../../stores/store.js';
import { policyFromRecord } from '../queue/decision-view.js';
import { CLAIMS_SCOPE, SESSIONS_SCOPE, trackScope } from '../queue/permit-limits.js';

/** The permits that a project's claims hold, as its commits would have set them. */
export function permitsOf(state: WorkState): Permit[] {
  const policy = policyFromRecord(state.records.get(POLICY_SUBJECT));
  const permits = new Map<string, Permit>();
  const addPermit = (scope: string, member: string, untilMs: number) => {
    const name = `${scope}\n${member}`;
    const knownMs = permits.get(name)?.until_ms ?? 0;
    permits.set(name, { scope, member, until_ms: Math.max(knownMs, untilMs) });
  };
  for (const subject of state.live) {
    const head = state.heads.get(subject) as Head;
    const untilMs = permitHeldUntilMs(head, rulesFor(subjectKindOf(subject), policy, DEFAULT_LIMITS, 0));
    if (head.claim === null || untilMs === null) continue;
    addPermit(CLAIMS_SCOPE, subject, untilMs);
    addPermit(SESSIONS_SCOPE, head.claim.session_id, untilMs);
    const track = state.plan.get(subject)?.task.track;
    if (policy.max_agents_per_track !== null && track !== undefined) {
      addPermit(trackScope(track), head.claim.agent_id, untilMs);
    }
  }
  return [...permits.values()];
}
