import type { Reply } from '../../api/call.js';
import { useFixedReply } from '../../api/use-reply.js';
import { AgentName } from '../../components/agent-name.js';
import { TaskLink } from '../../components/links.js';
import { QueryResult } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { visibleText } from '../../components/untrusted-text.js';

/** Progress and claims as they were at a position of the log. */
export function StateAtPosition({ at }: { at: number }) {
  const query = useFixedReply('status', { query: { at } });
  return (
    <section className="card" aria-label="State at this position">
      <h2>State at position {at}</h2>
      <QueryResult query={query}>{(status) => <ProgressAtPosition status={status} />}</QueryResult>
    </section>
  );
}

function ProgressAtPosition({ status }: { status: Reply<'status'> }) {
  const { total, tracks, claims, last_updated } = status;
  const count = total.completed + total.in_progress + total.pending;
  return (
    <>
      <p>
        {total.completed} of {count} done, {total.in_progress} in progress
        {last_updated === null ? null : (
          <>
            {' '}
            at <TimeText at={last_updated} />
          </>
        )}
      </p>
      <ul>
        {Object.entries(tracks).map(([track, counts]) => (
          <li key={track}>
            {visibleText(track)}: {counts.completed} done, {counts.in_progress} in progress, {counts.pending}{' '}
            pending
          </li>
        ))}
      </ul>
      {claims.length === 0 ? (
        <p className="quiet">No claim was held.</p>
      ) : (
        <ClaimsAtPosition claims={claims} />
      )}
    </>
  );
}

const ClaimsAtPosition = ({ claims }: { claims: Reply<'status'>['claims'] }) => (
  <div className="table-scroll">
    <table>
      <thead>
        <tr>
          <th>Task</th>
          <th>Agent</th>
          <th className="number">Generation</th>
          <th>State</th>
        </tr>
      </thead>
      <tbody>
        {claims.map(({ task_id, agent_id, generation, state }) => (
          <tr key={task_id}>
            <td>
              <TaskLink id={task_id} />
            </td>
            <td>
              <AgentName id={agent_id} />
            </td>
            <td className="number">{generation}</td>
            <td className="word">{state}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
