import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { FrozenTime } from '../../test/support/frozen-time.js';
import { Genesis } from './genesis.js';
import type { SubmitOutcome } from './outbox.js';
import { expectNoProblem, openClientHarness, PROJECT_KEY, planTextOf } from './testing/client-harness.js';

const AGENT = { agent_id: 'agent-a' };
const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });

// req: SDK-001
test('completes a plan with several concurrent tasks, and records an outcome for every result', async () => {
  const { genesis, direct } = await openClientHarness(planTextOf({ A: 5, B: 5, C: 1 }));
  const completedIds: string[] = [];
  let startedCount = 0;
  let releaseHandlers = (): void => {};
  const threeAtOnce = new Promise<void>((resolve) => {
    releaseHandlers = resolve;
  });
  const summary = await genesis.work(
    { ...AGENT, tracks: ['A', 'B'], concurrency: 3 },
    async (work, { note }) => {
      if (++startedCount === 3) releaseHandlers();
      await threeAtOnce;
      expectNoProblem(await note(`at ${work.briefing?.description}`));
      completedIds.push(work.task_id);
      return { done: work.task_id };
    },
  );
  expect(summary).toMatchObject({ accepted: 10, refused: 0, failed: 0, lost: 0, released: 0, pending: 0 });
  expect(new Set(completedIds).size).toBe(10);
  expect(expectNoProblem(await direct.tasks({ phase: 'OPEN' })).tasks.map(({ task_id }) => task_id)).toEqual([
    'C-001-part',
  ]);
  expect((await genesis.outcomes()).map(({ task_id }) => task_id).sort()).toEqual(completedIds.sort());
});

test('releases the work as an error, with the message, when the handler throws', async () => {
  const { genesis, direct } = await openClientHarness(planTextOf({ A: 1 }));
  const summary = await genesis.work({ ...AGENT, until: 'stopped' }, async (_work, { stop }) => {
    stop();
    throw new Error('the tests are red');
  });
  expect(summary).toMatchObject({ failed: 1, released: 0 });
  const { generations } = expectNoProblem(await direct.history('A-001-part'));
  expect(generations).toMatchObject([{ release_reason: 'ERROR' }]);
  expect(JSON.stringify(expectNoProblem(await direct.events({ type: 'CLAIM_RELEASED' })).events)).toContain(
    'the tests are red',
  );
});

test('treats a result that is not JSON data as an error of the handler', async () => {
  const { genesis, direct } = await openClientHarness(planTextOf({ A: 1 }));
  const summary = await genesis.work(AGENT, async (_work, { stop }) => {
    stop();
    return { size: 1n };
  });
  expect(summary).toMatchObject({ failed: 1, pending: 0 });
  expect(expectNoProblem(await direct.history('A-001-part')).generations).toMatchObject([
    { release_reason: 'ERROR' },
  ]);
});

test('repeats a request whose grant was lost, so that the work does not wait for the lease to end', async () => {
  const { client, direct, proxy } = await openClientHarness(planTextOf({ A: 1 }));
  const genesis = client({ retry: { tries: 1 } });
  let nextRequestCount = 0;
  proxy.actionFor = (request) =>
    request.endsWith('/next') && nextRequestCount++ < 2 ? 'lose_reply' : 'pass';
  const summary = await genesis.work(AGENT, async ({ claim }) => claim.generation);
  expect(nextRequestCount).toBeGreaterThan(2);
  expect(summary).toMatchObject({ accepted: 1, outcomes: [{ generation: 1 }] });
  expect(expectNoProblem(await direct.events({ type: 'CLAIM_ACQUIRED' })).events).toHaveLength(1);
});

test('when stopped, aborts the handler, releases the claim and closes the session', async () => {
  const { genesis, direct } = await openClientHarness(planTextOf({ A: 1 }));
  const stopController = new AbortController();
  const summary = await genesis.work(
    { ...AGENT, signal: stopController.signal },
    async (_work, { signal }) => {
      stopController.abort();
      signal.throwIfAborted();
    },
  );
  expect(summary).toMatchObject({ released: 1, failed: 0, accepted: 0 });
  expect(expectNoProblem(await direct.task('A-001-part'))).toMatchObject({ readiness: 'ready' });
  expect(expectNoProblem(await direct.sessions()).sessions.map(({ state }) => state)).toEqual(['closed']);
});

// req: SDK-003
test('the signal aborts when an operator releases the claim', async () => {
  FrozenTime.begin();
  const { genesis, direct } = await openClientHarness(planTextOf({ A: 1 }), {}, Genesis);
  let abortReason: unknown;
  const summary = await genesis.work(
    // Long enough for several renewals on a busy machine: the thread that renews has a real clock.
    { ...AGENT, lease_duration_seconds: 5 },
    async ({ claim }, { signal, stop }) => {
      const { task_id, generation } = claim;
      const reason = 'wrong agent';
      expectNoProblem(
        await direct.operate(task_id, 'force_release', { expected_generation: generation, reason }),
      );
      await untilAborted(signal);
      abortReason = signal.reason;
      stop();
      throw signal.reason;
    },
  );
  // The agent learned of the loss from a renewal.
  expect(abortReason).toMatchObject({ name: 'ClaimLost', task_id: 'A-001-part', reason: 'NO_CLAIM' });
  expect(summary).toMatchObject({ lost: 1, failed: 0 });
});

test('a zombie stops before its lease expires, and its result is refused and parked', async () => {
  const time = FrozenTime.begin();
  const { genesis, direct, proxy, server } = await openClientHarness(planTextOf({ A: 1 }), {}, Genesis);
  const heldReadings: boolean[] = [];
  let readiness = '';
  const summary = await genesis.work(
    { ...AGENT, lease_duration_seconds: 1 },
    async ({ task_id }, context) => {
      proxy.isFrozen = true;
      time.advance(0.85);
      heldReadings.push(context.held());
      time.advance(0.1);
      heldReadings.push(context.held());
      await untilAborted(context.signal);
      const state = await server.coordinator.queries.getTaskState(PROJECT_KEY, task_id);
      readiness = 'readiness' in state ? state.readiness : '';
      time.advance(0.1);
      const nextHolder = expectNoProblem(await direct.next({ agent_id: 'agent-b', session_id: 'sess-b' }));
      expect(nextHolder).toMatchObject({ success: true, claim: { task_id, generation: 2 } });
      proxy.isFrozen = false;
      proxy.cutConnections();
      context.stop();
      return 'what the zombie made';
    },
  );
  expect(heldReadings).toEqual([true, false]);
  expect(readiness).toBe('claimed');
  expect(summary).toMatchObject({ accepted: 0, refused: 1 });
  const [outcome] = await genesis.outcomes();
  expect(outcome).toMatchObject({ accepted: false, reason: 'STALE_GENERATION', parked: expect.any(String) });
  const parked = expectNoProblem(await direct.result('A-001-part', outcome?.parked ?? ''));
  expect(parked.result_data).toBe('what the zombie made');
});

test('submits a large result by blob', async () => {
  const { genesis, direct } = await openClientHarness(planTextOf({ A: 1 }));
  const large = 'x'.repeat(2 * 1024 * 1024);
  await genesis.work(AGENT, async () => ({ large }));
  const { results } = expectNoProblem(await direct.results('A-001-part'));
  expect(results[0]?.blob_sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(expectNoProblem(await direct.result('A-001-part', results[0]?.id ?? '')).result_data).toEqual({
    large,
  });
});

// req: LSE-012
test('estimates the lease from the durations of the track, within the limits of the tenant', async () => {
  FrozenTime.begin();
  const { genesis, direct } = await openClientHarness(planTextOf({ A: 2, B: 1 }), {
    max_lease_duration_seconds: 100,
  });
  const leases: Record<string, number | null> = {};
  const workAndRecordLeases = (tracks: string[]) =>
    genesis.work({ ...AGENT, tracks }, async ({ task_id, claim }, { stop }) => {
      leases[task_id] = claim.lease_duration_seconds;
      stop();
    });
  await workAndRecordLeases(['A']);
  await workAndRecordLeases(['A']);
  await workAndRecordLeases(['B']);
  // Without past durations the default lease is requested, which exceeds this tenant's limit.
  expect(leases).toEqual({ 'A-001-part': 100, 'A-002-part': 30, 'B-001-part': 100 });
  expect(expectNoProblem(await direct.tasks({ phase: 'OPEN' })).tasks).toEqual([]);
});

test('with `until: idle`, requests work of every track before it ends', async () => {
  const { genesis, direct } = await openClientHarness(planTextOf({ A: 1, B: 1 }));
  const other = { agent_id: 'agent-b', session_id: 'sess-b' };
  expectNoProblem(await direct.claimTask({ task_id: 'A-001-part', ...other }));
  const tracks = ['A', 'B'];
  const summary = await genesis.work({ ...AGENT, tracks, until: 'idle' }, async ({ task_id }) => task_id);
  expect(summary).toMatchObject({ accepted: 1, is_done: false, outcomes: [{ task_id: 'B-001-part' }] });
});

test('waits for work in a track that has none', async () => {
  const { genesis, direct, proxy } = await openClientHarness(planTextOf({ A: 1 }));
  let polls = 0;
  proxy.actionFor = (request) => {
    // The second request shows that the first reply did not end the work.
    if (request.endsWith('/next') && ++polls === 2)
      void direct.addTasks([{ id: 'B-001-late', description: 'Added later' }]);
    return 'pass';
  };
  const summary = await genesis.work({ ...AGENT, tracks: ['B'] }, async ({ task_id }) => task_id);
  expect(summary).toMatchObject({ accepted: 1, is_done: true, outcomes: [{ task_id: 'B-001-late' }] });
});

test('signs every command of a session with a key, including renewals, and the log keeps the signatures', async () => {
  FrozenTime.begin();
  const { client, direct } = await openClientHarness(planTextOf({ A: 1 }), {}, Genesis);
  expectNoProblem(await direct.putLimits({ require_signatures: true }));
  const unsigned = await direct.claimTask({
    task_id: 'A-001-part',
    agent_id: 'agent-b',
    session_id: 'sess-b',
  });
  expect(unsigned).toMatchObject({ code: 'SIGNATURE_REQUIRED' });
  const genesis = client({ signing_key: generateKeyPairSync('ed25519').privateKey });
  const summary = await genesis.work({ ...AGENT, lease_duration_seconds: 1 }, async (_work, { note }) => {
    expectNoProblem(await note('signed as well'));
    for await (const { event } of direct.follow({ type: 'LEASE_RENEWED' })) return event.position;
  });
  expect(summary).toMatchObject({ accepted: 1, refused: 0 });
  const { events } = expectNoProblem(await direct.events({ type: 'RESULT_SUBMITTED' }));
  expect(JSON.stringify(events)).toContain('"signature":"v1;');
});

test('ends the work with the problem if the server refuses permanently', async () => {
  const { client } = await openClientHarness(planTextOf({ A: 1 }));
  const genesis = client({ project: 'no such project!' });
  const outcomes: SubmitOutcome[] = [];
  await expect(genesis.work(AGENT, async () => outcomes)).rejects.toMatchObject({ name: 'GenesisError' });
});
