import { factOf } from '../claims/facts.js';
import type { EventEnvelope } from '../events/envelope.js';
import { type Holdings, subjectsOf } from './claim-index.js';
import { isOwnDeed } from './deed.js';

/** An agent may come back in a new session for years; the view names the ones it was last seen in. */
export const SESSIONS_PER_AGENT_MAX = 100;

/** What is known of one agent. Mutable: it belongs to the project state that folds it. */
export interface AgentTally {
  readonly agent_id: string;
  role: string | null;
  /** In the order in which they were last seen. */
  readonly sessions: Set<string>;
  completed: number;
  rejected: number;
  denied: number;
  last_activity: string;
}

export interface AgentView {
  readonly agent_id: string;
  readonly role: string | null;
  readonly sessions: readonly string[];
  /** Subjects on which the agent has an ACTIVE or SUSPENDED claim. */
  readonly claims: readonly string[];
  readonly completed: number;
  readonly rejected: number;
  readonly denied: number;
  readonly last_activity: string;
}

/** Counts what an event says its agent did. What humans and time do makes nobody an agent. */
export function tallyAgent(agents: Map<string, AgentTally>, event: EventEnvelope): void {
  if (!isOwnDeed(event)) return;
  const tally = agents.get(event.agent_id) ?? newTally(event);
  agents.set(event.agent_id, tally);
  tally.role = event.agent_role ?? tally.role;
  tally.last_activity = event.timestamp;
  if (event.session_id !== undefined && event.session_id !== '') seenIn(tally.sessions, event.session_id);
  switch (factOf(event.event_type)) {
    case 'accepted':
    case 'adopted':
      tally.completed += 1;
      break;
    case 'result_denied':
      tally.rejected += 1;
      break;
    case 'claim_denied':
      tally.denied += 1;
      break;
  }
}

function newTally({ agent_id, timestamp }: EventEnvelope): AgentTally {
  return {
    agent_id,
    role: null,
    sessions: new Set(),
    completed: 0,
    rejected: 0,
    denied: 0,
    last_activity: timestamp,
  };
}

function seenIn(sessions: Set<string>, session_id: string): void {
  sessions.delete(session_id);
  sessions.add(session_id);
  if (sessions.size <= SESSIONS_PER_AGENT_MAX) return;
  for (const oldest of sessions) {
    sessions.delete(oldest);
    return;
  }
}

type Agents = Holdings & { readonly agents: ReadonlyMap<string, AgentTally> };

/** All agents, or those that are named. */
export function agentViews(state: Agents, names: Iterable<string> = state.agents.keys()): AgentView[] {
  return [...names]
    .flatMap((agent_id) => state.agents.get(agent_id) ?? [])
    .map((tally) => ({
      ...tally,
      sessions: [...tally.sessions],
      claims: subjectsOf(state, tally.agent_id).sort(),
    }))
    .sort((a, b) => (a.agent_id < b.agent_id ? -1 : 1));
}
