import type { ClaimState, Head } from '../../core/claims/head.js';
import type { DecisionView } from '../queue/decision-view.js';

/** The live claims of a session in a state, in the order in which it took them. */
export function claimsOfSession(view: DecisionView, sessionId: string, state: ClaimState): Head[] {
  return [...view.subjectsOfSession(sessionId)]
    .map((subject) => view.peekHead(subject))
    .filter(
      ({ subject, claim }) =>
        claim?.session_id === sessionId && claim.state === state && view.isLive(subject),
    )
    .sort((a, b) => (a.claim?.claimed_at_ms ?? 0) - (b.claim?.claimed_at_ms ?? 0));
}

/** Advice for a session that waits only for work it holds itself; null if it holds none. */
export function ownWorkAdvice([first, ...otherSubjects]: readonly string[]): string | null {
  if (first === undefined) return null;
  const others = otherSubjects.length === 0 ? '' : ` and ${otherSubjects.length} more`;
  return `Your session holds ${first}${others}. Finish that first: submit or release it. If you have lost its handle, ask again with resume: true.`;
}
