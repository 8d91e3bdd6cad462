import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { useReply } from '../../api/use-reply.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { runnerChecks } from './runner-checks.js';

/**
 * The deterministic checks of the candidate: those that a runner's evidence shows as passed, and those that lack such
 * evidence.
 */
export function RunnerEvidence({ run }: { run: RunDetails }) {
  const { data } = useReply('explain', { params: { subject: run.task_id } });
  const checks = runnerChecks(data, run.generation);
  if (checks.length === 0) return null;
  return (
    <section className="card" aria-label="Evidence of runners">
      <h2>Evidence of runners</h2>
      <ul>
        {checks.map(({ name, hasPassed, text }) => (
          <li key={name}>
            <span className={`mark ${hasPassed ? 'mark-good' : 'mark-warn'}`}>
              {hasPassed ? 'passed' : 'missing'}
            </span>{' '}
            <b>
              <UntrustedText text={name} />
            </b>{' '}
            <UntrustedText text={text} />
          </li>
        ))}
      </ul>
    </section>
  );
}
