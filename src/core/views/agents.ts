import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import { isAgentAction } from './agent-action.js';
import { type ClaimHoldings, claimedSubjectsOf } from './claim-index.js';

/** An agent may use new sessions for years; the view has the most recent ones. */
export const SESSIONS_PER_AGENT_MAX = 100;

/** Statistics of one agent. Mutable: owned by the project state that folds it. */
export interface AgentStats {
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

/** Counts an action of an agent. Events caused by humans or expiry are ignored. */
export function updateAgentStats(agents: Map<string, AgentStats>, event: EventEnvelope): void {
  if (!isAgentAction(event)) return;
  const stats = agents.get(event.agent_id) ?? newAgentStats(event);
  agents.set(event.agent_id, stats);
  stats.role = event.agent_role ?? stats.role;
  stats.last_activity = event.timestamp;
  if (event.session_id !== undefined && event.session_id !== '')
    touchSession(stats.sessions, event.session_id);
  switch (claimEventKindOf(event.event_type)) {
    case 'accepted':
    case 'adopted':
      stats.completed += 1;
      break;
    case 'result_denied':
      stats.rejected += 1;
      break;
    case 'claim_denied':
      stats.denied += 1;
      break;
  }
}

function newAgentStats({ agent_id, timestamp }: EventEnvelope): AgentStats {
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

function touchSession(sessions: Set<string>, sessionId: string): void {
  sessions.delete(sessionId);
  sessions.add(sessionId);
  if (sessions.size <= SESSIONS_PER_AGENT_MAX) return;
  for (const oldest of sessions) {
    sessions.delete(oldest);
    return;
  }
}

type AgentsState = ClaimHoldings & { readonly agents: ReadonlyMap<string, AgentStats> };

/** All agents, or the named ones. */
export function agentViews(state: AgentsState, names: Iterable<string> = state.agents.keys()): AgentView[] {
  return [...names]
    .flatMap((agentId) => state.agents.get(agentId) ?? [])
    .map((stats) => ({
      ...stats,
      sessions: [...stats.sessions],
      claims: claimedSubjectsOf(state, stats.agent_id).sort(),
    }))
    .sort((a, b) => (a.agent_id < b.agent_id ? -1 : 1));
}
