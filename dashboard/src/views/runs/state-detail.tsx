import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { Disclosure } from '../../components/disclosure.js';
import { ForeignBlock, ForeignText, visibleText } from '../../components/foreign-text.js';
import { TimeText } from '../../components/time-text.js';
import { BlobView, TextBox } from '../task/blob-view.js';
import type { ShownState } from './run-model.js';
import { costText, msText, storedDigest } from './run-texts.js';

type Step = RunDetails['steps'][number];

const TONES: Readonly<Record<Step['status'], string>> = {
  RUNNING: 'mark-accent',
  COMPLETED: 'mark-good',
  FAILED: 'mark-bad',
  WAITING: 'mark-warn',
};

/** The steps of one state: a check each in the tiers of checks, otherwise one. */
export const StateDetail = ({ state: { name, steps } }: { state: ShownState }) => (
  <section className="state-detail" aria-label={name}>
    <h3>{name}</h3>
    {steps.length === 0 ? <p className="quiet">It has no step in this iteration.</p> : null}
    {steps.map((step) => (
      <StepDetail key={`${step.iteration} ${step.step}`} step={step} />
    ))}
  </section>
);

const StepDetail = ({ step }: { step: Step }) => (
  <article className="run-step" aria-label={visibleText(step.step)}>
    <p className="row">
      <span className="mono">
        <ForeignText text={step.step} />
      </span>
      <span className={`mark ${TONES[step.status]}`}>{step.status}</span>
      {step.attempts > 1 ? <span>{step.attempts} attempts</span> : null}
    </p>
    <dl>
      <dt>Started</dt>
      <dd>
        <TimeText at={step.started_at} />
      </dd>
      <dt>Took</dt>
      <dd>{step.duration_ms === null ? '–' : msText(step.duration_ms)}</dd>
      <dt>Cost</dt>
      <dd>{costText(step.cost)}</dd>
      <dt>Input digest</dt>
      <dd className="mono digest">{step.input_sha256}</dd>
    </dl>
    {step.error === null ? null : (
      <div className="failure">
        <b>
          <ForeignText text={step.error} />
        </b>
        {step.cause === null ? null : <ForeignBlock text={step.cause} />}
      </div>
    )}
    <StepOutput step={step} />
  </article>
);

function StepOutput({ step: { step, output, output_ref } }: { step: Step }) {
  if (output !== null)
    return (
      <Disclosure title="Output">
        {() => <TextBox text={JSON.stringify(output, null, 2)} name={`Output of ${visibleText(step)}`} />}
      </Disclosure>
    );
  if (output_ref === null) return null;
  const sha256 = storedDigest(output_ref);
  if (sha256 === null)
    return (
      <p>
        Output stored as{' '}
        <span className="mono">
          <ForeignText text={`${output_ref.bucket}/${output_ref.key}`} />
        </span>
      </p>
    );
  return (
    <Disclosure title={<>Output, stored as a blob</>}>
      {() => (
        <>
          <p className="mono digest">{sha256}</p>
          <BlobView sha256={sha256} name={`Output of ${visibleText(step)}`} />
        </>
      )}
    </Disclosure>
  );
}
