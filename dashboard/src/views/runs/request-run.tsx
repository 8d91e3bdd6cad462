import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { command, type Reply } from '../../api/call.js';
import { useCommand } from '../../api/use-command.js';
import { useIsAllowed } from '../../api/whoami.js';
import { RefusalText } from '../../components/refusal-text.js';
import { visibleText } from '../../components/untrusted-text.js';
import { useFeatures } from '../features/use-features.js';
import { edgesToRun } from './edges-to-run.js';

/** Requests a run and opens it. */
function useRunRequest() {
  const { run, isBusy, refusal } = useCommand();
  const canRequest = useIsAllowed('iterate');
  const [, navigate] = useLocation();
  const request = async (taskId: string, more: { retry_of?: string } = {}) => {
    const [feature_id = '', edge = ''] = taskId.split('#');
    let reply: Reply<'iterate'> | null = null;
    const isDone = await run(async () => {
      reply = await command('iterate', { feature_id, edge, ...more });
      return reply;
    });
    const requested = reply as { run?: { run_id: string } } | null;
    if (isDone && requested?.run !== undefined) navigate(`/runs/${requested.run.run_id}`);
  };
  return { request, isBusy, refusal, canRequest };
}

/** Requests a run of an edge of the workspace. An executor (`gen iterate`) executes the run. */
export function RequestRun() {
  const { data } = useFeatures();
  // A project without a workspace has no edges to run.
  if (data === undefined || data.state === 'UNINITIALISED') return null;
  return <RequestForm status={data} />;
}

function RequestForm({ status }: { status: MethodologyStatus }) {
  const { request, isBusy, refusal, canRequest } = useRunRequest();
  const [chosen, setChosen] = useState('');
  const features = edgesToRun(status);
  const { feature, edge } = status.start_would;
  const advised = feature === null || edge === null ? '' : `${feature}#${edge}`;
  const value = chosen || advised || (features[0]?.edges[0] ?? '');
  if (features.length === 0 || (!canRequest && refusal === null)) return null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void request(value);
  };
  return (
    <form className="request-run" onSubmit={submit}>
      <label>
        Edge to run
        <select value={value} onChange={(event) => setChosen(event.target.value)}>
          {features.map(({ feature_id, edges }) => (
            <optgroup key={feature_id} label={visibleText(feature_id)}>
              {edges.map((id) => (
                <option key={id} value={id}>
                  {visibleText(id)}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <button type="submit" className="primary" disabled={isBusy}>
        Request a run
      </button>
      <RefusalText refusal={refusal} />
    </form>
  );
}

/** Requests a new run that begins with the findings of this one. */
export function RetryRunButton({ run }: { run: { run_id: string; task_id: string } }) {
  const { request, isBusy, refusal, canRequest } = useRunRequest();
  return (
    <>
      {canRequest ? (
        <button
          type="button"
          className="primary"
          disabled={isBusy}
          onClick={() => void request(run.task_id, { retry_of: run.run_id })}
        >
          Request a retry
        </button>
      ) : null}
      <RefusalText refusal={refusal} />
    </>
  );
}
