import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { AgentName } from '../../components/agent-name.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedBlock, UntrustedText, visibleText } from '../../components/untrusted-text.js';
import { useServerClock } from '../../live/server-clock.js';
import type { ShownState } from './run-model.js';
import { costText, msText, runDuration } from './run-texts.js';
import { outputText } from './step-data.js';
import { StepEvents, StepInput, StepOutput } from './step-data-view.js';

type Step = RunDetails['steps'][number];

const TONES: Readonly<Record<Step['status'], string>> = {
  RUNNING: 'mark-accent',
  COMPLETED: 'mark-good',
  FAILED: 'mark-bad',
  WAITING: 'mark-warn',
};
const RESULT_TONES: Readonly<Record<string, string>> = {
  pass: 'mark-good',
  fail: 'mark-bad',
  error: 'mark-bad',
};

/** The steps of one state. A tier of checks has one step per check, any other state has one step. */
export const StateDetail = ({ run, state: { name, steps } }: { run: RunDetails; state: ShownState }) => (
  <section className="state-detail" aria-label={name}>
    <h3>{name}</h3>
    {steps.length === 0 ? <NoSteps run={run} name={name} /> : null}
    {steps.map((step) => (
      <StepDetail key={`${step.iteration} ${step.step}`} run={run} step={step} />
    ))}
  </section>
);

const NoSteps = ({ run, name }: { run: RunDetails; name: string }) =>
  name === 'ClaimEdge' && run.started_at !== null ? (
    <p>
      <AgentName id={run.agent_id ?? 'An executor'} /> has claimed the edge in generation {run.generation}.
      The run started at <TimeText at={run.started_at} />.
    </p>
  ) : (
    <p className="quiet">The run has not reached this state in this iteration.</p>
  );

const StepDetail = ({ run, step }: { run: RunDetails; step: Step }) => (
  <article className="run-step" aria-label={visibleText(step.step)}>
    <p className="row">
      <span className="mono">
        <UntrustedText text={step.step} />
      </span>
      <StepMark step={step} />
      {step.attempts > 1 ? <span>{step.attempts} attempts</span> : null}
    </p>
    {step.error !== null ? (
      <div className="failure">
        <b>
          <UntrustedText text={step.error} />
        </b>
        {step.cause === null ? null : <UntrustedBlock text={step.cause} />}
      </div>
    ) : (
      <Message text={outputText(step.output)} />
    )}
    <dl className="facts">
      <div>
        <dt>Started</dt>
        <dd>
          <TimeText at={step.started_at} />
        </dd>
      </div>
      <Took step={step} />
      <div>
        <dt>Cost</dt>
        <dd>{costText(step.cost)}</dd>
      </div>
    </dl>
    <StepInput run={run} step={step} />
    <StepOutput step={step} />
    <StepEvents run={run} step={step} />
  </article>
);

/** The status of a step, or the result of its check, because the step of a failed check is completed. */
function StepMark({ step: { status, output } }: { step: Step }) {
  const result = status === 'COMPLETED' ? output?.result : undefined;
  return typeof result === 'string' ? (
    <span className={`mark ${RESULT_TONES[result] ?? ''}`}>{visibleText(result)}</span>
  ) : (
    <span className={`mark ${TONES[status]}`}>{status}</span>
  );
}

const Message = ({ text }: { text: string | null }) =>
  text === null ? null : <UntrustedBlock text={text} />;

function Took({ step }: { step: Step }) {
  const nowMs = useServerClock();
  const isOpen = step.duration_ms === null && step.ended_at === null;
  return (
    <div>
      <dt>{isOpen ? 'So far' : 'Took'}</dt>
      <dd>{step.duration_ms === null ? runDuration(step, nowMs) : msText(step.duration_ms)}</dd>
    </div>
  );
}
