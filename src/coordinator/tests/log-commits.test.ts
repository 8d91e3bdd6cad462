import { expect, onTestFinished, test } from 'vitest';
import { PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { diskError, faultyDisk } from '../../stores/file/testing.js';
import { Coordinator } from '../coordinator.js';
import { type Environment, systemEnvironment } from '../runtime/environment.js';

const A = 'A-001-core';
const claimOf = (task_id: string, agent_id = 'alpha') => ({ task_id, agent_id, session_id: agent_id });

/** A coordinator on a log whose writes wait while they are held, and then succeed or fail. */
async function openOnFaultyDisk() {
  let writeGate: Promise<void> = Promise.resolve();
  let isFailing = false;
  const disk = faultyDisk({
    write: async (path, bytes, write) => {
      if (!path.endsWith('events.jsonl')) return write(bytes);
      await writeGate;
      if (isFailing) throw diskError('ENOSPC');
      return write(bytes);
    },
  });
  const store = await openFileStore({ root: await temporaryFolder(), disk });
  let turnGate: Promise<void> = Promise.resolve();
  const environment: Environment = {
    ...systemEnvironment,
    yieldToEventLoop: async () => {
      await turnGate;
      await systemEnvironment.yieldToEventLoop();
    },
  };
  const coordinator = await Coordinator.open({ store, environment });
  onTestFinished(async () => {
    coordinator.close();
    await store.close();
  });
  unwrap(await coordinator.plans.put(PROJECT_KEY, planOf(A, 'B-001-data')));
  return {
    store,
    coordinator,
    /** Holds writes until the returned function lets them succeed or fail. */
    holdWrites: () => {
      let release = (): void => {};
      writeGate = new Promise((resolve) => {
        release = resolve;
      });
      return (outcome: 'written' | 'failed') => {
        isFailing = outcome === 'failed';
        release();
      };
    },
    allowWrites: () => {
      isFailing = false;
    },
    failWrites: () => {
      isFailing = true;
    },
    /** Holds the coordinator wherever it yields to the event loop, until the returned function is called. */
    holdTurns: () => {
      let release = (): void => {};
      turnGate = new Promise((resolve) => {
        release = resolve;
      });
      return () => release();
    },
  };
}

/** Records when a reply arrives. */
function trackSettling<T>(reply: Promise<T>) {
  const record = { isSettled: false, reply };
  reply.then(() => {
    record.isSettled = true;
  });
  return record;
}

const runEventLoopTurns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
};

test('a grant, a refusal that depends on it and a query wait until the grant is durable', async () => {
  const { coordinator, holdWrites } = await openOnFaultyDisk();
  const release = holdWrites();
  const granted = trackSettling(coordinator.claims.claimTask(PROJECT_KEY, claimOf(A)));
  await runEventLoopTurns();
  const refused = trackSettling(coordinator.claims.claimTask(PROJECT_KEY, claimOf(A, 'beta')));
  const state = trackSettling(coordinator.queries.getTaskState(PROJECT_KEY, A));
  await runEventLoopTurns();
  expect([granted, refused, state].map(({ isSettled }) => isSettled)).toEqual([false, false, false]);
  release('written');
  expect(await granted.reply).toMatchObject({ reason: 'GRANTED', claim: { generation: 1 } });
  expect(await refused.reply).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
  expect(await state.reply).toMatchObject({ generation: 1, readiness: 'claimed' });
});

test('a failed write takes back the grant and everything that was decided on it', async () => {
  const { coordinator, holdWrites, allowWrites } = await openOnFaultyDisk();
  const release = holdWrites();
  const granted = coordinator.claims.claimTask(PROJECT_KEY, { ...claimOf(A), request_id: 'r1' });
  await runEventLoopTurns();
  const refused = coordinator.claims.claimTask(PROJECT_KEY, claimOf(A, 'beta'));
  const repeated = coordinator.claims.claimTask(PROJECT_KEY, { ...claimOf(A), request_id: 'r1' });
  const state = coordinator.queries.getTaskState(PROJECT_KEY, A);
  await runEventLoopTurns();
  release('failed');
  for (const reply of [granted, refused, repeated, state])
    expect(await reply).toMatchObject({ problem: 'UNAVAILABLE' });
  allowWrites();
  expect(await coordinator.queries.getTaskState(PROJECT_KEY, A)).toMatchObject({
    generation: 0,
    readiness: 'ready',
  });
  expect(await coordinator.claims.claimTask(PROJECT_KEY, claimOf(A, 'beta'))).toMatchObject({
    reason: 'GRANTED',
    claim: { generation: 1, agent_id: 'beta' },
  });
});

test('of the commands decided on arrival, a failed write takes back only those that it contains', async () => {
  const { store, coordinator, failWrites, allowWrites, holdTurns } = await openOnFaultyDisk();
  // Opens the session, so that the next commands are decided when they arrive.
  await coordinator.claims.claimTask(PROJECT_KEY, claimOf(A));
  const releaseTurns = holdTurns();
  const handle = { task_id: A, session_id: 'alpha', expected_generation: 1 };
  const renewed = coordinator.holder.renewLease(PROJECT_KEY, handle);
  await expect
    .poll(async () => (await store.events(PROJECT_KEY, { after: 0, limit: 10 })).at(-1)?.event_type)
    .toBe('LEASE_RENEWED');
  failWrites();
  const claimed = coordinator.claims.claimTask(PROJECT_KEY, { ...claimOf(A), task_id: 'B-001-data' });
  await expect.poll(() => store.countPermits(PROJECT_KEY.tenant_id, 'claims').catch(() => null)).toBe(1);
  allowWrites();
  releaseTurns();
  expect(await renewed).toMatchObject({ success: true });
  expect(await claimed).toMatchObject({ problem: 'UNAVAILABLE' });
  const state = await coordinator.queries.getTaskState(PROJECT_KEY, 'B-001-data');
  expect(state).toMatchObject({ generation: 0, readiness: 'ready' });
});

test('a command that is not a single step is decided on arrival too', async () => {
  const { coordinator, holdTurns } = await openOnFaultyDisk();
  await coordinator.claims.claimTask(PROJECT_KEY, claimOf(A));
  // A queued command would wait for the end of the turn.
  const releaseTurns = holdTurns();
  const granted = trackSettling(coordinator.claims.claimTask(PROJECT_KEY, claimOf('B-001-data', 'gamma')));
  await runEventLoopTurns();
  await expect.poll(() => granted.isSettled).toBe(true);
  releaseTurns();
  expect(await granted.reply).toMatchObject({ reason: 'GRANTED' });
});

test('next is answered if a failed write takes back the plan that it was about to read', async () => {
  const { coordinator, holdWrites, allowWrites, holdTurns } = await openOnFaultyDisk();
  const first = await coordinator.claims.next(PROJECT_KEY, { agent_id: 'alpha', session_id: 'alpha' });
  expect(first).toMatchObject({ reason: 'GRANTED', claim: { task_id: A } });
  const releaseWrite = holdWrites();
  const planned = coordinator.plans.put(PROJECT_KEY, planOf(A, 'B-001-data', 'C-001-api'));
  await runEventLoopTurns();
  const releaseTurns = holdTurns();
  const next = coordinator.claims.next(PROJECT_KEY, { agent_id: 'beta', session_id: 'beta' });
  releaseWrite('failed');
  expect(await planned).toMatchObject({ problem: 'UNAVAILABLE' });
  allowWrites();
  releaseTurns();
  expect(await next).toMatchObject({ reason: 'GRANTED', claim: { task_id: 'B-001-data' } });
});

test('a query about settings returns only durable values', async () => {
  const { coordinator, holdWrites, allowWrites } = await openOnFaultyDisk();
  const release = holdWrites();
  const changed = coordinator.settings.putPolicy(PROJECT_KEY, { max_attempts: 2 });
  await runEventLoopTurns();
  const policy = trackSettling(coordinator.settings.getPolicy(PROJECT_KEY));
  await runEventLoopTurns();
  expect(policy.isSettled).toBe(false);
  release('failed');
  expect(await changed).toMatchObject({ problem: 'UNAVAILABLE' });
  expect(await policy.reply).not.toMatchObject({ max_attempts: 2 });
  allowWrites();
  expect(await coordinator.settings.getPolicy(PROJECT_KEY)).toMatchObject({ max_attempts: 10 });
});

test('a command that follows a change of policy in the same batch is decided under the new policy', async () => {
  const { coordinator } = await openOnFaultyDisk();
  const [, , claimed] = await Promise.all([
    // Decided first, so that the view has cached the old policy before it changes.
    coordinator.claims.claimTask(PROJECT_KEY, claimOf('B-001-data')),
    coordinator.settings.putPolicy(PROJECT_KEY, { max_hold_seconds: 100 }),
    coordinator.claims.claimTask(PROJECT_KEY, { ...claimOf(A), lease_duration_seconds: 600 }),
  ]);
  const { claim } = claimed as { claim: { claimed_at: string; expires_at: string } };
  expect(Date.parse(claim.expires_at) - Date.parse(claim.claimed_at)).toBe(100_000);
});

test('a command is decided on a state that includes writes that were made outside the project’s queue', async () => {
  const { coordinator, store } = await openOnFaultyDisk();
  expect(await coordinator.claims.claimTask(PROJECT_KEY, claimOf(A))).toMatchObject({ reason: 'GRANTED' });
  const another = await Coordinator.open({ store });
  onTestFinished(() => another.close());
  const submission = { task_id: A, session_id: 'alpha', generation: 1, result_data: 'done' };
  expect(await another.holder.submitResult(PROJECT_KEY, submission)).toMatchObject({ reason: 'ACCEPTED' });
  expect(await coordinator.claims.claimTask(PROJECT_KEY, claimOf(A, 'beta'))).toMatchObject({
    reason: 'DENIED_COMPLETED',
  });
});
