import { useMutation } from '@tanstack/react-query';
import { useCallback, useEffect, useRef } from 'react';
import { call, type Reply } from '../../api/call.js';
import { useIsAllowed } from '../../api/whoami.js';
import { Failure } from '../../components/states.js';
import { visibleText } from '../../components/untrusted-text.js';
import { clearVerificationRequest, useVerificationRequest } from './verification-request.js';

/** Whether the log is intact, checked by the server on request of an admin. */
export function VerifyPanel() {
  const panel = useRef<HTMLElement>(null);
  const verification = useVerification();
  const canVerify = useIsAllowed('verify_log');
  const isRequested = useVerificationRequest();
  const { start } = verification;
  useEffect(() => {
    if (!canVerify || !isRequested) return;
    clearVerificationRequest();
    panel.current?.scrollIntoView({ block: 'nearest' });
    start();
  }, [canVerify, isRequested, start]);
  if (!canVerify) return null;
  return (
    <section className="card" aria-label="Verification" ref={panel}>
      <h2>Verification</h2>
      <p>
        <button type="button" disabled={verification.isPending} onClick={start}>
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

/** The server stops a verification whose connection is closed, so the verification ends when the view closes. */
function useVerification() {
  const stopController = useRef<AbortController | null>(null);
  const { mutate, ...verification } = useMutation({
    mutationFn: (signal: AbortSignal) => call('verify_log', { body: {} }, signal),
  });
  useEffect(() => () => stopController.current?.abort(), []);
  const start = useCallback(() => {
    stopController.current?.abort();
    stopController.current = new AbortController();
    mutate(stopController.current.signal);
  }, [mutate]);
  return { ...verification, start };
}

function Verdict({ verified }: { verified: Reply<'verify_log'> }) {
  const { is_valid, events, subjects, checkpoints, covered_position, signatures, breaks, notes } = verified;
  return (
    <>
      <p role="status">
        <span className={`mark ${is_valid ? 'mark-good' : 'mark-bad'}`}>
          {is_valid ? 'valid' : 'not valid'}
        </span>{' '}
        {events} events of {subjects} subjects, {signatures} signatures,{' '}
        {checkpoints === 0
          ? 'no checkpoint'
          : `${checkpoints} checkpoints up to position ${covered_position}`}
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
