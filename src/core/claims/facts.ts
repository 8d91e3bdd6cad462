import { kindOf } from '../subject.js';

/**
 * The facts of a claim's life, each with its two names: tasks speak the language of seed 004,
 * edges that of seeds 000 to 002. One table, so that both vocabularies mean the same.
 */
const NAMES = {
  granted: { task: 'CLAIM_ACQUIRED', edge: 'edge_started' },
  renewed: { task: 'LEASE_RENEWED', edge: 'heartbeat' },
  lost: { task: 'CLAIM_LOST', edge: 'claim_expired' },
  released: { task: 'CLAIM_RELEASED', edge: 'edge_released' },
  suspended: { task: 'CLAIM_SUSPENDED', edge: 'claim_suspended' },
  resumed: { task: 'CLAIM_RESUMED', edge: 'claim_resumed' },
  accepted: { task: 'RESULT_SUBMITTED', edge: 'edge_converged' },
  adopted: { task: 'RESULT_ADOPTED', edge: 'result_adopted' },
  escalated: { task: 'RESULT_ESCALATED', edge: 'convergence_escalated' },
  reviewed: { task: 'REVIEW_COMPLETED', edge: 'review_completed' },
  held: { task: 'TASK_HELD', edge: 'edge_held' },
  unheld: { task: 'TASK_UNHELD', edge: 'edge_unheld' },
  reset: { task: 'TASK_RESET', edge: 'edge_reset' },
  claim_denied: { task: 'CLAIM_REJECTED', edge: 'claim_rejected' },
  result_denied: { task: 'RESULT_REJECTED', edge: 'result_rejected' },
  noted: { task: 'NOTE_ADDED', edge: 'note_added' },
} as const;

export type Fact = keyof typeof NAMES;

/** Facts that say what was refused or remarked: they move no head and carry no seq. */
export const NOTE_FACTS: ReadonlySet<Fact> = new Set<Fact>(['claim_denied', 'result_denied', 'noted']);

export function eventName(fact: Fact, subject: string): string {
  return NAMES[fact][kindOf(subject) === 'edge' ? 'edge' : 'task'];
}

const FACTS = new Map<string, Fact>(
  (Object.keys(NAMES) as Fact[]).flatMap((fact) => [
    [NAMES[fact].task, fact],
    [NAMES[fact].edge, fact],
  ]),
);

/** The fact an event states; undefined for every event that is not about a claim. */
export const factOf = (event_type: string): Fact | undefined => FACTS.get(event_type);
