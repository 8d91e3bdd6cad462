import { useMutation } from '@tanstack/react-query';
import { command, type Reply } from '../../api/call.js';
import { useMay } from '../../api/whoami.js';
import { Failure } from '../../components/states.js';
import { visibleText } from '../../components/untrusted-text.js';

/** Whether the log is intact, checked by the server on request of an admin. */
export function VerifyPanel() {
  const verification = useMutation({ mutationFn: () => command('verify_log', {}) });
  if (!useMay('verify_log')) return null;
  return (
    <section className="card" aria-label="Verification">
      <h2>Verification</h2>
      <p>
        <button type="button" disabled={verification.isPending} onClick={() => verification.mutate()}>
          {verification.isPending ? 'Verifying…' : 'Verify the log'}
        </button>
      </p>
      {verification.error === null ? null : <Failure error={verification.error} />}
      {verification.data === undefined ? null : <Verdict verified={verification.data} />}
      <p className="quiet">
        Replays every event. On the server, <code>gen verify</code> also reads the files of the log.
      </p>
    </section>
  );
}

function Verdict({ verified }: { verified: Reply<'verify_log'> }) {
  const { is_valid, events, subjects, checkpoints, covered_position, signatures, breaks, notes } = verified;
  return (
    <>
      <p role="status">
        <span className={`mark ${is_valid ? 'mark-good' : 'mark-bad'}`}>
          {is_valid ? 'valid' : 'not valid'}
        </span>{' '}
        {events} events of {subjects} subjects, {signatures} signatures, {checkpoints} checkpoints up to
        position {covered_position}
      </p>
      <ul>
        {[...breaks, ...notes].map(({ line, rule, says }) => (
          <li key={`${line} ${rule} ${says}`}>
            <b>{rule}</b> at {line}: {visibleText(says)}
          </li>
        ))}
      </ul>
    </>
  );
}
