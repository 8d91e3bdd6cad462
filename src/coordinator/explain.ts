import { holdReason, live, stale } from '../core/claims/lease.js';
import { isoTime } from '../core/events/envelope.js';
import { kindOf } from '../core/subject.js';
import { adviceFor } from './advice.js';
import type { Desk } from './desk.js';
import { edgeFacts, isSingle, SINGLE_AGENT } from './edge-facts.js';
import { openDependencies, unknownSays } from './facts.js';

export interface Explanation {
  task_id: string;
  claimable: boolean;
  why: readonly { rule: string; says: string }[];
  next: string;
}

/** Every rule that stands between an agent and this work, not only the first, in the order they are asked. */
/** `live_claims`: how many the tenant has now, as the store counts them. */
export function explain(desk: Desk, subject: string, live_claims: number): Explanation {
  const unknown = unknownSays(desk, subject);
  const why =
    unknown === null ? obstacles(desk, subject, live_claims) : [{ rule: 'UNKNOWN_TASK', says: unknown }];
  const first = why[0];
  return {
    task_id: subject,
    claimable: first === undefined,
    why: first === undefined ? [{ rule: 'GRANTED', says: 'nobody holds it and nothing is missing' }] : why,
    next: first === undefined ? 'Claim it.' : adviceFor(first.rule),
  };
}

function obstacles(desk: Desk, subject: string, live_claims: number): { rule: string; says: string }[] {
  const head = desk.head(subject);
  const rules = desk.rulesOf(subject);
  const { now_ms } = desk;
  const why: { rule: string; says: string }[] = [];
  if (kindOf(subject) === 'edge' && isSingle(desk.methodology)) {
    const says = `only ${SINGLE_AGENT.agent_id} works here: coordination.mode is single in coordination.yml`;
    why.push({ rule: 'DENIED_SINGLE_AGENT', says });
  }
  if (head.phase === 'COMPLETED') {
    const result = head.result;
    const who = result === null ? '' : ` by ${result.agent_id} under generation ${result.generation}`;
    why.push({ rule: 'DENIED_COMPLETED', says: `it was completed${who}` });
  }
  const hold = holdReason(head, now_ms, rules);
  if (hold !== null) why.push({ rule: 'DENIED_HELD', says: hold });
  if (live(head, now_ms, rules) && head.claim !== null) {
    why.push({ rule: 'DENIED_ACTIVE_CLAIM', says: heldBy(desk, subject) });
  }
  const waiting = openDependencies(desk, subject);
  if (waiting.length > 0) {
    why.push({ rule: 'DENIED_DEPENDENCIES', says: `it waits for ${waiting.slice(0, 20).join(', ')}` });
  }
  why.push(...sharedWork(desk, subject));
  if (head.retry_at_ms !== null && now_ms < head.retry_at_ms) {
    const error = head.last_error ?? 'no message';
    const says = `its last attempt failed (${error}); it may be tried again at ${isoTime(head.retry_at_ms)}`;
    why.push({ rule: 'DENIED_BACKOFF', says });
  }
  if (head.generation >= rules.max_generations_per_task) {
    const says = `it has had ${head.generation} generations, and no more are allowed`;
    why.push({ rule: 'DENIED_LIMIT', says });
  }
  const { max_concurrent_claims } = desk.limits;
  if (live_claims >= max_concurrent_claims) {
    const says = `the tenant has ${live_claims} live claims, and max_concurrent_claims is ${max_concurrent_claims}`;
    why.push({ rule: 'DENIED_LIMIT', says });
  }
  return why;
}

/** Where sharing modules is forbidden. It is asked for whoever holds none of that work. */
function sharedWork(desk: Desk, subject: string): { rule: string; says: string }[] {
  const facts = edgeFacts(desk, subject, {
    agent_id: desk.head(subject).claim?.agent_id ?? '',
    agent_role: null,
  });
  if (!facts?.enforced) return [];
  return facts.shared.map((held) => ({
    rule: 'DENIED_PARALLEL',
    says: `${held.agent_id} holds ${held.subject}, which touches ${held.shared_modules.join(', ')} too`,
  }));
}

function heldBy(desk: Desk, subject: string): string {
  const { claim, generation } = desk.head(subject);
  if (claim === null) return '';
  const who = `${claim.agent_id} holds it in session ${claim.session_id} under generation ${generation}`;
  if (claim.state === 'SUSPENDED') return `${who}, and waits for a human`;
  if (stale(desk.head(subject), desk.now_ms, desk.rulesOf(subject))) {
    return `${who}, silent since ${isoTime(claim.active_at_ms)}; this project leaves such claims to a human`;
  }
  if (claim.lease_seconds === null) {
    return `${who}, without a lease: until it is released, or an operator releases it by force`;
  }
  return claim.expires_at_ms === null ? who : `${who} until ${isoTime(claim.expires_at_ms)}`;
}
