import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { useReply } from '../../api/use-reply.js';
import { useHashQuery } from '../../components/hash-location.js';
import { Loading, QueryResult } from '../../components/states.js';
import { CheckGridView } from './check-grid-view.js';
import type { MachineOutline } from './machine-outline.js';
import { MachineView } from './machine-view.js';
import { iterationsOf, machineOf, stateToShow } from './run-model.js';
import { RunSummaryCard } from './run-summary-card.js';
import { shortRunId } from './run-texts.js';
import { RunnerEvidence } from './runner-evidence.js';
import { StateDetail } from './state-detail.js';
import { useMachine } from './use-machine.js';
import '../task/task.css';
import './runs.css';

/** One run: its machine, what each state did, and its checks by iteration. */
export default function RunPage({ id }: { id: string }) {
  const query = useReply('get_run', { params: { run_id: id } });
  return (
    <>
      <h1>
        Run{' '}
        <span className="mono" title={id}>
          {shortRunId(id)}
        </span>
      </h1>
      <QueryResult query={query}>
        {({ run, omitted_steps }) => (
          <div key={run.run_id} className="run-page">
            <RunSummaryCard run={run} />
            {omitted_steps > 0 ? (
              <p className="quiet">
                The {omitted_steps} oldest steps are left out, because all steps together are too large.
              </p>
            ) : null}
            <RunParts run={run} />
          </div>
        )}
      </QueryResult>
    </>
  );
}

function RunParts({ run }: { run: RunDetails }) {
  const outline = useMachine(run);
  if (outline === undefined) return <Loading />;
  return (
    <>
      <CheckGridView run={run} outline={outline} />
      <RunnerEvidence run={run} />
      <Machine run={run} outline={outline} />
    </>
  );
}

/** The machine of a run. The address has a chosen iteration and state. Without a choice, both follow the run. */
function Machine({ run, outline }: { run: RunDetails; outline: MachineOutline | null }) {
  const [query, change] = useHashQuery();
  const iterations = iterationsOf(run);
  const lastIteration = iterations.at(-1) as number;
  const iteration = iterations.find((each) => String(each) === query.get('iteration')) ?? lastIteration;
  const states = machineOf(run, iteration, outline);
  const chosen = states.find(({ name }) => name === query.get('state'))?.name ?? stateToShow(states);
  const shown = states.find(({ name }) => name === chosen);
  return (
    <section className="card" aria-label="State machine">
      <div className="row machine-title">
        <h2>State machine</h2>
        <label>
          Iteration
          <select
            value={iteration}
            onChange={(event) =>
              change({ iteration: event.target.value === String(lastIteration) ? '' : event.target.value })
            }
          >
            {iterations.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </div>
      <div className="machine-columns">
        <MachineView states={states} chosen={chosen} onChoose={(state) => change({ state })} />
        {shown === undefined ? null : <StateDetail run={run} state={shown} />}
      </div>
    </section>
  );
}
