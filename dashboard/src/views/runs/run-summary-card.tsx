import { Link } from 'wouter';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { ForeignText } from '../../components/foreign-text.js';
import { TaskLink } from '../../components/links.js';
import { TimeText } from '../../components/time-text.js';
import { useServerClock } from '../../live/server-clock.js';
import { CancelRunButton } from './cancel-run.js';
import { hasEnded } from './run-model.js';
import { RunStatusMark } from './run-status-mark.js';
import { costText, runDuration } from './run-texts.js';

/** What came of the run, and what to do next. */
export function RunSummaryCard({ run }: { run: RunDetails }) {
  return (
    <section className="card" aria-label="Summary">
      <p className="row">
        <RunStatusMark run={run} />
        <TaskLink id={run.task_id} />
        <span>{run.iterations === 1 ? '1 iteration' : `${run.iterations} iterations`}</span>
        <span>spent: {costText(run.spent)}</span>
        {run.agent_id === null ? null : (
          <span>
            executed by <ForeignText text={run.agent_id} />, generation {run.generation}
          </span>
        )}
        {run.workflow_type === null ? null : <span>{run.workflow_type}</span>}
      </p>
      {run.says === '' ? null : (
        <p>
          <ForeignText text={run.says} />
        </p>
      )}
      <Times run={run} />
      <NextStep run={run} />
    </section>
  );
}

function Times({ run }: { run: RunDetails }) {
  const took = runDuration(run, useServerClock());
  const log = `/log?${new URLSearchParams({ subject: run.task_id })}`;
  return (
    <p className="row quiet">
      {run.requested_at === null ? null : (
        <span>
          requested <TimeText at={run.requested_at} />
          {run.requested_by === null ? null : (
            <>
              {' '}
              by <ForeignText text={run.requested_by} />
            </>
          )}
        </span>
      )}
      {run.started_at === null ? null : (
        <span>
          started <TimeText at={run.started_at} />
        </span>
      )}
      {run.ended_at === null ? null : (
        <span>
          ended <TimeText at={run.ended_at} />
        </span>
      )}
      {took === null ? null : <span>took {took}</span>}
      {run.retry_of === null ? null : (
        <Link href={`/runs/${run.retry_of}`}>retry of {run.retry_of.slice(0, 8)}</Link>
      )}
      <Link href={log}>Events in the log</Link>
    </p>
  );
}

function NextStep({ run }: { run: RunDetails }) {
  if (run.status === 'CONVERGED') return null;
  if (hasEnded(run))
    return (
      <p>
        Try again with its findings: <code>gen runs retry {run.run_id}</code>
      </p>
    );
  return (
    <>
      {run.status === 'REQUESTED' ? (
        <p>
          It waits for an executor: <code>gen iterate '{run.task_id}'</code>
        </p>
      ) : null}
      <CancelRunButton run={run} />
    </>
  );
}
