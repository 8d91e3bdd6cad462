import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { AgentView } from '../contract/overview.js';
import type { EventEnvelope } from '../events/envelope.js';
import { type ClaimHoldings, claimedSubjectsOf } from '../heads/claim-index.js';
import { isAgentAction } from './agent-action.js';

/** Maximum number of sessions in the view of an agent, the most recent ones: an agent may use new sessions for years. */
export const SESSIONS_PER_AGENT_MAX = 100;

/** Counts an action of an agent. An event that is none (see `isAgentAction`) is ignored. */
export function updateAgentStats(agents: Map<string, AgentStats>, event: EventEnvelope): void {
  if (!isAgentAction(event)) return;
  const stats = agents.get(event.agent_id) ?? newAgentStats(event);
  agents.set(event.agent_id, stats);
  stats.role = event.agent_role ?? stats.role;
  stats.last_activity = event.timestamp;
  if (event.session_id !== undefined && event.session_id !== '')
    touchSession(stats.sessions, event.session_id);
  const kind = claimEventKindOf(event.event_type);
  if (kind === 'accepted' || kind === 'adopted') stats.completed += 1;
  if (kind === 'result_refused') stats.rejected += 1;
  if (kind === 'claim_refused') stats.denied += 1;
}

const newAgentStats = ({ agent_id, timestamp }: EventEnvelope) => ({
  agent_id,
  role: null as string | null,
  /** In the order in which they were last seen. */
  sessions: new Set<string>(),
  completed: 0,
  rejected: 0,
  denied: 0,
  last_activity: timestamp,
});
/** Statistics of one agent. Mutable: owned by the project state that folds it. */
export type AgentStats = ReturnType<typeof newAgentStats>;

function touchSession(sessions: Set<string>, sessionId: string): void {
  sessions.delete(sessionId);
  sessions.add(sessionId);
  const [oldest] = sessions;
  if (sessions.size > SESSIONS_PER_AGENT_MAX && oldest !== undefined) sessions.delete(oldest);
}

type AgentsState = ClaimHoldings & { readonly agents: ReadonlyMap<string, AgentStats> };

/** Views of all agents, or of the named ones. */
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
