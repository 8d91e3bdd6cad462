import type { Reply } from '../../api/call.js';
import { useReply } from '../../api/use-reply.js';
import { AgentName } from '../../components/agent-name.js';
import { useHashQuery } from '../../components/hash-location.js';
import { Empty, QueryResult } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { useServerClock } from '../../live/server-clock.js';
import type { Activity } from './activity.js';
import { type AgentRow, type AgentState, agentRows } from './agent-rows.js';
import { HeldClaim } from './held-claim.js';
import { OutcomeText } from './outcome-text.js';

const AGENTS_READ_MAX = 1000;
/** The rest is shown on request. */
const ROWS_SHOWN_MAX = 100;

const TONES: Readonly<Record<AgentState, string>> = {
  active: 'mark-good',
  suspect: 'mark-warn',
  stale: 'mark-bad',
  suspended: 'mark-accent',
  gone: 'mark-bad',
  idle: '',
};
const MEANINGS: Readonly<Record<AgentState, string>> = {
  active: 'holds work and renews its lease',
  suspect: 'most of a lease has passed without a renewal',
  stale: 'the server reports it as inactive; a person can release its work',
  suspended: 'waits for a decision by a person',
  gone: 'its lease has ended and it has not been active since',
  idle: 'holds nothing',
};

/** Agents, their claims, and the ends of their leases. */
export function Agents({ status, activity }: { status: Reply<'status'>; activity: Activity }) {
  const agents = useReply('agents', { query: { limit: AGENTS_READ_MAX } });
  const expired = useReply('list_expired_claims', { query: { limit: AGENTS_READ_MAX } });
  const nowMs = useServerClock();
  return (
    <section className="card agents" aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <QueryResult query={agents}>
        {(reply) => {
          const { outcomes, holders } = activity;
          const replies = { agents: reply.agents, status, expired: expired.data?.claims ?? [], outcomes };
          const rows = agentRows(replies, nowMs);
          if (rows.length === 0) return <NoAgents />;
          return <AgentTable rows={rows} holders={holders} hasMore={reply.next !== null} />;
        }}
      </QueryResult>
    </section>
  );
}

const NoAgents = () => (
  <Empty title="No agent has claimed anything yet">
    <p>
      Connect one: <code>gen setup</code>, or claim by hand: <code>gen task claim</code>
    </p>
  </Empty>
);

interface AgentTableProps {
  readonly rows: readonly AgentRow[];
  readonly holders: Activity['holders'];
  readonly hasMore: boolean;
}

function AgentTable({ rows, holders, hasMore }: AgentTableProps) {
  const [query, change] = useHashQuery();
  const shown = query.get('agents') === 'all' ? rows : rows.slice(0, ROWS_SHOWN_MAX);
  return (
    <>
      <table className="stacked">
        <thead>
          <tr>
            <th scope="col">Agent and state</th>
            <th scope="col">Work</th>
            <th scope="col" className="number">
              Done
            </th>
            <th scope="col" className="number">
              Refused
            </th>
            <th scope="col">Last active</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <AgentLine key={row.agent_id} row={row} holders={holders} />
          ))}
        </tbody>
      </table>
      {shown.length < rows.length ? (
        <button type="button" onClick={() => change({ agents: 'all' })}>
          Show all {rows.length} agents
        </button>
      ) : null}
      {hasMore ? <p className="quiet">Only the first {AGENTS_READ_MAX} agents by name are listed.</p> : null}
    </>
  );
}

function AgentLine({ row, holders }: { row: AgentRow; holders: Activity['holders'] }) {
  const { agent_id, state, claims, stats, outcome } = row;
  return (
    <tr>
      <th scope="row" className="agent-name">
        <AgentName id={agent_id} />
        <span className={`mark ${TONES[state]}`} title={MEANINGS[state]}>
          {state}
        </span>
        {stats?.role == null ? null : <div className="quiet">{stats.role}</div>}
      </th>
      <td className="wide">
        {claims.map((held) => (
          <HeldClaim key={held.claim.task_id} held={held} />
        ))}
        {claims.length === 0 && outcome !== null ? (
          <OutcomeText outcome={outcome} holder={holders.get(outcome.subject)} agent={agent_id} />
        ) : null}
      </td>
      <td className="number" data-label="done">
        {stats?.completed}
      </td>
      <td className="number" data-label="refused">
        {stats === null ? null : stats.rejected + stats.denied}
      </td>
      <td>{stats === null ? null : <TimeText at={stats.last_activity} />}</td>
    </tr>
  );
}
