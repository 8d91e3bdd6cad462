import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { AgentName } from '../../components/agent-name.js';
import { TaskLink } from '../../components/links.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { useServerClock } from '../../live/server-clock.js';
import { CancelRunButton } from './cancel-run.js';
import { RetryRunButton } from './request-run.js';
import { hasEnded } from './run-model.js';
import { RunStatusMark } from './run-status-mark.js';
import { costText, runDuration, shortRunId } from './run-texts.js';

/** The outcome of the run, and the next step. */
export const RunSummaryCard = ({ run }: { run: RunDetails }) => (
  <section className="card" aria-label="Summary">
    <p className="row run-title">
      <RunStatusMark run={run} />
      <TaskLink id={run.task_id} />
    </p>
    {run.says === '' ? null : (
      <p>
        <UntrustedText text={run.says} />
      </p>
    )}
    <Facts run={run} />
    <p className="row quiet">
      {run.retry_of === null ? null : (
        <Link href={`/runs/${run.retry_of}`}>Retry of {shortRunId(run.retry_of)}</Link>
      )}
      <Link href={`/log?${new URLSearchParams({ subject: run.task_id })}`}>Events in the log</Link>
    </p>
    <NextStep run={run} />
  </section>
);

function Facts({ run }: { run: RunDetails }) {
  const took = runDuration(run, useServerClock());
  return (
    <dl className="facts">
      <Fact name="Iterations">{run.iterations}</Fact>
      <Fact name="Spent">{costText(run.spent)}</Fact>
      {took === null ? null : <Fact name={hasEnded(run) ? 'Took' : 'Under way for'}>{took}</Fact>}
      {run.requested_at === null ? null : (
        <Fact name="Requested">
          <TimeText at={run.requested_at} />
          {run.requested_by === null ? null : (
            <>
              {' by '}
              <AgentName id={run.requested_by} />
            </>
          )}
        </Fact>
      )}
      {run.started_at === null ? null : (
        <Fact name="Started">
          <TimeText at={run.started_at} />
        </Fact>
      )}
      {run.ended_at === null ? null : (
        <Fact name="Ended">
          <TimeText at={run.ended_at} />
        </Fact>
      )}
      {run.decision === null || !run.decided_at ? null : (
        <Fact name="Decided">
          {run.decision.toLowerCase().replace('_', ' ')} <TimeText at={run.decided_at} /> by{' '}
          <AgentName id={run.decided_by ?? ''} />
          {run.edge_converged_at ? '; the edge converged' : ''}
        </Fact>
      )}
      {run.agent_id === null ? null : (
        <Fact name="Executor">
          <AgentName id={run.agent_id} />, generation {run.generation}
        </Fact>
      )}
      {run.workflow_type === null ? null : <Fact name="Workflow">{run.workflow_type.toLowerCase()}</Fact>}
    </dl>
  );
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

function NextStep({ run }: { run: RunDetails }) {
  if (run.status === 'CONVERGED') return null;
  if (hasEnded(run))
    return (
      <div className="row">
        <RetryRunButton run={run} />
        <span className="quiet">
          A retry begins with the findings of this run: <code>gen runs retry {run.run_id}</code>
        </span>
      </div>
    );
  return (
    <>
      {run.status === 'REQUESTED' ? (
        <p>
          The run waits for an executor: <code>gen iterate '{run.task_id}'</code>
        </p>
      ) : null}
      {run.status === 'WAITING' ? (
        <p>
          A person must <Link href="/inbox/review">answer in the inbox</Link>, unless that is done. Then{' '}
          <code>gen iterate '{run.task_id}'</code> continues the run.
        </p>
      ) : null}
      <CancelRunButton run={run} />
    </>
  );
}
