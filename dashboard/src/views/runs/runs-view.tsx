import { Link } from 'wouter';
import type { RunSummary } from '../../../../src/core/contract/runs.js';
import { useReply } from '../../api/use-reply.js';
import { Absent } from '../../components/absent.js';
import { AgentName } from '../../components/agent-name.js';
import { useHashQuery } from '../../components/hash-location.js';
import { TaskLink } from '../../components/links.js';
import { ScrollRegion } from '../../components/scroll-region.js';
import { Empty, QueryResult } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { useServerClock } from '../../live/server-clock.js';
import { RequestRun } from './request-run.js';
import { STATUS_TONES } from './run-model.js';
import { RunStatusMark } from './run-status-mark.js';
import { costText, NO_COST, runDuration, shortRunId } from './run-texts.js';
import './runs.css';

const PAGE_RUNS = 100;
const COLUMNS = ['Run', 'Edge', 'Status', 'Iterations', 'Cost', 'Started', 'Took', 'Executor'];

/** The runs of the project, newest first. */
export default function RunsView() {
  const [query, change] = useHashQuery();
  const chosen = query.get('status') ?? '';
  const status = Object.hasOwn(STATUS_TONES, chosen) ? chosen : '';
  const after = query.get('after') ?? undefined;
  const runsQuery = useReply('list_runs', {
    query: { limit: PAGE_RUNS, status: status === '' ? undefined : status, after },
  });
  return (
    <>
      <h1>Runs</h1>
      <div className="row runs-filter">
        <label>
          Status
          <select value={status} onChange={(event) => change({ status: event.target.value, after: '' })}>
            <option value="">all</option>
            {Object.keys(STATUS_TONES).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {after === undefined ? null : (
          <button type="button" onClick={() => change({ after: '' })}>
            Newest runs
          </button>
        )}
        <RequestRun />
      </div>
      <QueryResult query={runsQuery}>
        {({ runs, next }) => (
          <>
            {runs.length === 0 ? <NoRuns status={status} /> : <RunTable runs={runs} />}
            {next === null ? null : (
              <button type="button" onClick={() => change({ after: next })}>
                Older runs
              </button>
            )}
          </>
        )}
      </QueryResult>
    </>
  );
}

const NoRuns = ({ status }: { status: string }) =>
  status === '' ? (
    <Empty title="No runs yet">
      <p>
        Run an edge: <code>gen iterate FEATURE#EDGE</code>
      </p>
    </Empty>
  ) : (
    <Empty title={`No runs with the status ${status}`} />
  );

const RunTable = ({ runs }: { runs: readonly RunSummary[] }) => (
  <ScrollRegion className="card table-scroll" name="Runs">
    <table className="runs stacked">
      <thead>
        <tr>
          {COLUMNS.map((column) => (
            <th key={column} className={column === 'Iterations' ? 'number' : undefined}>
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.run_id} run={run} />
        ))}
      </tbody>
    </table>
  </ScrollRegion>
);

function RunRow({ run }: { run: RunSummary }) {
  const nowMs = useServerClock();
  const cost = costText(run.spent);
  const began = run.started_at ?? run.requested_at;
  return (
    <tr>
      <td>
        <Link className="mono" href={`/runs/${run.run_id}`} aria-label={`Run ${run.run_id}`}>
          {shortRunId(run.run_id)}
        </Link>
      </td>
      <td className="wide">
        <TaskLink id={run.task_id} />
      </td>
      <td>
        <RunStatusMark run={run} />
      </td>
      <td className="number" data-label="iterations">
        {run.iterations}
      </td>
      <td>{cost === NO_COST ? <Absent /> : cost}</td>
      <td data-title="started">{began === null ? <Absent /> : <TimeText at={began} />}</td>
      <td data-title="took">{runDuration(run, nowMs) ?? <Absent />}</td>
      <td data-title="by">{run.agent_id === null ? <Absent /> : <AgentName id={run.agent_id} />}</td>
    </tr>
  );
}
