import { expect, test } from 'vitest';
import type { EdgeCoordination } from '../coordination.js';
import { keepClaim } from './keep-claim.js';

const AUTHOR = { subject: 'F#e', agent_id: 'a', session_id: 's', claim_id: 'c', generation: 1 };
const SIGNAL = new AbortController().signal;

type RenewLease = EdgeCoordination['renewLease'];

/** Keeps a claim with a timer that the test fires. */
function startKeeping(renewLease: RenewLease, events: readonly object[] = []) {
  const timers: (() => void)[] = [];
  const setTimer = (_: number, task: () => void) => {
    timers.push(task);
    return () => void timers.splice(timers.indexOf(task), 1);
  };
  const coordination = { renewLease, eventsOf: async () => events } as unknown as EdgeCoordination;
  const claim = keepClaim({ coordination }, AUTHOR, 'run-1', setTimer, SIGNAL);
  const fireTimer = async (): Promise<void> => {
    timers.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { claim, timers, fireTimer };
}

test('a refused renewal means that the claim is lost, and ends the renewals', async () => {
  const refusal = { success: false, reason: 'GENERATION_MISMATCH', next: '' };
  const { claim, timers, fireTimer } = startKeeping(async () => refusal as Awaited<ReturnType<RenewLease>>);
  await fireTimer();
  expect(claim.isLost()).toBe(true);
  expect(claim.signal.aborted).toBe(true);
  expect(timers).toEqual([]);
});

test('a claim that the result of the run has ended is not lost', async () => {
  const refusal = { success: false, reason: 'NO_CLAIM', next: '' };
  const accepted = { event_type: 'edge_converged', payload: { result_metadata: { run_id: 'run-1' } } };
  const { claim, timers, fireTimer } = startKeeping(
    async () => refusal as Awaited<ReturnType<RenewLease>>,
    [accepted],
  );
  await fireTimer();
  expect(claim.isLost()).toBe(false);
  expect(timers).toEqual([]);
});

test('a claim whose renewal gets no answer is renewed again, until the run ends', async () => {
  const { claim, timers, fireTimer } = startKeeping(async () => ({ code: 'TIMEOUT', detail: 'no reply' }));
  await fireTimer();
  await fireTimer();
  expect(claim.isLost()).toBe(false);
  expect(timers).toHaveLength(1);
  claim.stop();
  expect(timers).toEqual([]);
});
