import { Link } from 'wouter';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { Disclosure } from '../../components/disclosure.js';
import { UntrustedText, visibleText } from '../../components/untrusted-text.js';
import { BlobView, TextBox } from '../task/blob-view.js';
import { storedDigest } from './run-texts.js';
import { inputSteps, storedParts } from './step-data.js';

type Step = RunDetails['steps'][number];

/** The digest of the input, and the outputs that it is made of. */
export function StepInput({ run, step }: { run: RunDetails; step: Step }) {
  const sources = inputSteps(run, step);
  return (
    <Disclosure title="Input">
      {() => (
        <>
          <p className="quiet">
            Digest <span className="mono digest">{step.input_sha256}</span>
          </p>
          {sources.length === 0 ? <p className="quiet">The step reads only the name of the edge.</p> : null}
          {sources.map((source) => (
            <Disclosure
              key={`${source.iteration} ${source.step}`}
              title={
                <>
                  Output of{' '}
                  <span className="mono">
                    <UntrustedText text={source.step} />
                  </span>
                  {source.iteration === step.iteration ? null : `, iteration ${source.iteration}`}
                </>
              }
            >
              {() => <OutputContent step={source} />}
            </Disclosure>
          ))}
        </>
      )}
    </Disclosure>
  );
}

/** The output, and the stored content that it names. */
export const StepOutput = ({ step }: { step: Step }) => (
  <>
    {storedParts(step.output).map(({ title, sha256 }) => (
      <Disclosure key={title} title={title}>
        {() => <BlobView sha256={sha256} name={`${title} of ${visibleText(step.step)}`} />}
      </Disclosure>
    ))}
    {step.output === null && step.output_ref === null ? null : (
      <Disclosure title={step.output === null ? 'Output, stored as a blob' : 'Output'}>
        {() => <OutputContent step={step} />}
      </Disclosure>
    )}
  </>
);

function OutputContent({ step: { step, output, output_ref } }: { step: Step }) {
  const name = `Output of ${visibleText(step)}`;
  if (output !== null) return <TextBox text={JSON.stringify(output, null, 2)} name={name} />;
  if (output_ref === null) return null;
  const sha256 = storedDigest(output_ref);
  if (sha256 === null)
    return (
      <p>
        Stored as{' '}
        <span className="mono">
          <UntrustedText text={`${output_ref.bucket}/${output_ref.key}`} />
        </span>
      </p>
    );
  return (
    <>
      <p className="mono digest">{sha256}</p>
      <BlobView sha256={sha256} name={name} />
    </>
  );
}

/** The log of the edge while the step ran. */
export function StepEvents({ run, step }: { run: RunDetails; step: Step }) {
  const query = new URLSearchParams({ subject: run.task_id, since: step.started_at });
  if (step.ended_at !== null) query.set('until', new Date(Date.parse(step.ended_at) + 1).toISOString());
  return <Link href={`/log?${query}`}>Events of this step</Link>;
}
