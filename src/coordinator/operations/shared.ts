import type { Decision } from '../../core/claims/commands.js';
import type { Head } from '../../core/claims/head.js';
import { occupiedUntilMs } from '../../core/claims/lease.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import { isSessionClosed } from '../facts.js';
import { textDigest } from '../identity.js';
import { SESSIONS_SCOPE, trackScope } from '../rooms.js';
import type { UnitBuilder } from '../unit-builder.js';

/** What every command may say of itself. */
export interface Said {
  readonly request_id?: string | undefined;
  readonly signature?: string | undefined;
}

/**
 * Under which key a request is remembered, and what tells its body from another. `operation` names the command, or
 * for a claim its subject: no command is called like one. Signed again, it is the same request.
 */
export function requestOf(caller: Caller, operation: string, body: Said) {
  if (body.request_id === undefined) return null;
  const { signature: _, ...asked } = body;
  return requestFor(caller, body.request_id, JSON.stringify([operation, asked]));
}

/** `text`: everything the request asks for. */
export const requestFor = (caller: Caller, request_id: string, text: string) => ({
  key: `${caller.principal}/${request_id}`,
  digest: textDigest(text),
});

/** The session has acted: it counts as active a while longer, or as long as what it holds. */
export function countSession(unit: UnitBuilder, desk: Desk, decision: Decision): void {
  const { claim } = decision.next;
  if (claim === null || decision.events.length === 0) return;
  if (decision.head.claim?.session_id !== claim.session_id) countLoser(unit, desk, decision.head);
  // What a closed session still held is released after it: that makes it no more active.
  if (isSessionClosed(desk, claim.session_id)) return;
  const lease_ms = occupiedUntilMs(decision.next, desk.rulesOf(decision.next.subject));
  const until_ms = desk.sessionUntilMs(claim.session_id, lease_ms);
  if (!desk.isCountedUntil(claim.session_id, until_ms)) unit.slot(SESSIONS_SCOPE, claim.session_id, until_ms);
}

/** The session lost what it held, and did not act: that keeps it active no longer. */
export function countLoser(unit: UnitBuilder, desk: Desk, head: Head): void {
  if (head.claim === null || isSessionClosed(desk, head.claim.session_id)) return;
  const until_ms = desk.leftUntilMs(head);
  if (until_ms !== null) unit.slot(SESSIONS_SCOPE, head.claim.session_id, until_ms);
}

/** Where agents per track are limited, an agent takes its place in the track with its claim. */
export function countTrackAgent(unit: UnitBuilder, desk: Desk, decision: Decision): void {
  const max = desk.policy.max_agents_per_track;
  const { claim, subject } = decision.next;
  if (max === null || claim === null || decision.events.length === 0) return;
  const task = desk.state.plan.get(subject)?.task;
  if (task === undefined) return;
  const scope = trackScope(task.track);
  // Whoever loses the work by this decision gives up the place it took, whatever session it was in.
  for (const agent_id of new Set([decision.head.claim?.agent_id ?? claim.agent_id, claim.agent_id])) {
    unit.slot(scope, agent_id, inTrackUntilMs(desk, task.track, agent_id, decision.next));
  }
  if (decision.code === 'GRANTED' || decision.code === 'REASSIGNED') unit.room(scope, max);
}

function inTrackUntilMs(desk: Desk, track: string, agent_id: string, next: Head): number | null {
  const others = [...desk.subjectsOf(agent_id)]
    .filter((id) => id !== next.subject && desk.state.plan.get(id)?.task.track === track)
    .map((id) => desk.glimpse(id));
  const until = [next, ...others]
    .filter((head) => head.claim?.agent_id === agent_id)
    .map((head) => occupiedUntilMs(head, desk.rulesOf(head.subject)))
    .filter((until_ms) => until_ms !== null);
  return until.length === 0 ? null : Math.max(...until);
}
