import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Coordinator, isProblem } from '../src/coordinator/index.js';
import { openFileStore } from '../src/stores/file/file-store.js';
import { faultyDisk } from '../src/stores/file/testing.js';
import { openMemoryStore } from '../src/stores/memory/memory-store.js';
import { HarnessAgent } from './support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from './support/coordinator-harness.js';

const A = 'A-001-core';
const PLAN = planOf(A);

async function newRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'findings-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

/**
 * Findings of the protocol review that concern the log and several coordinators; those about the rules are tested next
 * to them.
 */
describe('findings of the protocol review', () => {
  it('F-13: a handle from before a loss of history is refused', async () => {
    const meta = (incarnation: number) => ({ incarnation, secret: '7'.repeat(64) });
    const claim = { task_id: A, agent_id: 'a', session_id: 's1' };
    const before = await Coordinator.open({ store: openMemoryStore({ meta: meta(1) }) });
    // The store was restored from before the grant: the same generation is granted a second time.
    const after = await Coordinator.open({ store: openMemoryStore({ meta: meta(2) }) });
    onTestFinished(() => {
      before.close();
      after.close();
    });
    for (const coordinator of [before, after]) unwrap(await coordinator.plans.put(PROJECT_KEY, PLAN));
    const lost = unwrap(await before.claims.claimTask(PROJECT_KEY, claim)).claim;
    const held = unwrap(await after.claims.claimTask(PROJECT_KEY, claim)).claim;
    expect([lost?.generation, held?.generation]).toEqual([1, 1]);

    const submit = (claim_id: string | undefined) =>
      after.holder.submitResult(PROJECT_KEY, {
        task_id: A,
        session_id: 's1',
        generation: 1,
        claim_id,
        result_data: {},
      });
    expect(unwrap(await submit(lost?.id)).reason).toBe('SESSION_MISMATCH');
    expect(unwrap(await submit(held?.id)).reason).toBe('ACCEPTED');
  });

  // req: STO-012
  it('F-42: a reply is sent only after the sync that covers it', async () => {
    const root = await newRoot();
    let syncing = Promise.resolve();
    const disk = faultyDisk({ sync: (path, sync) => (path.endsWith('events.jsonl') ? syncing : sync()) });
    const store = await openFileStore({ root, disk });
    const coordinator = await Coordinator.open({ store });
    onTestFinished(() => coordinator.close());
    unwrap(await coordinator.plans.put(PROJECT_KEY, PLAN));

    let finish = () => {};
    syncing = new Promise((resolve) => {
      finish = resolve;
    });
    let hasReplied = false;
    const claim = coordinator.claims
      .claimTask(PROJECT_KEY, { task_id: A, agent_id: 'a', session_id: 's1' })
      .then((reply) => {
        hasReplied = true;
        return reply;
      });
    const log = join(root, PROJECT_KEY.tenant_id, PROJECT_KEY.project_id, 'events.jsonl');
    while (!(await readFile(log, 'utf8')).includes('CLAIM_ACQUIRED')) await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(hasReplied).toBe(false);
    finish();
    expect(unwrap(await claim).reason).toBe('GRANTED');
    await store.close();
  });

  // req: STO-020
  it('F-43: a coordinator does not answer from its cache after another one has changed the claim', async () => {
    const store = openMemoryStore();
    const [one, two] = await Promise.all([Coordinator.open({ store }), Coordinator.open({ store })]);
    onTestFinished(() => {
      one.close();
      two.close();
    });
    unwrap(await one.plans.put(PROJECT_KEY, PLAN));
    const claim = { task_id: A, agent_id: 'a', session_id: 's1' };
    unwrap(await one.claims.claimTask(PROJECT_KEY, claim));
    // Coordinator one has the grant in its cache. Coordinator two ends the claim.
    const handle = { task_id: A, session_id: 's1', expected_generation: 1 };
    expect(unwrap(await two.holder.releaseClaim(PROJECT_KEY, handle)).reason).toBe('RELEASED');
    expect(unwrap(await one.holder.renewLease(PROJECT_KEY, handle)).reason).toBe('NO_CLAIM');
    expect(
      unwrap(await one.claims.claimTask(PROJECT_KEY, { ...claim, agent_id: 'b', session_id: 's2' })).reason,
    ).toBe('GRANTED');
    // The reverse: coordinator two still considers the task free.
    expect(unwrap(await two.claims.claimTask(PROJECT_KEY, { ...claim, session_id: 's3' })).reason).toBe(
      'DENIED_ACTIVE_CLAIM',
    );
  });

  // req: INB-010
  it('F-62: a log has one writer, and a second one is refused with the process id of the first', async () => {
    const root = await newRoot();
    const first = await openFileStore({ root });
    await expect(openFileStore({ root })).rejects.toThrow(new RegExp(String(process.pid)));
    await first.close();
    const second = await openFileStore({ root });
    await second.close();
  });

  it('F-65: a torn last line is dropped and does not damage the next event', async () => {
    const root = await newRoot();
    const open = async () => {
      const store = await openFileStore({ root });
      const coordinator = await Coordinator.open({ store });
      const close = () => {
        coordinator.close();
        return store.close();
      };
      return { store, coordinator, close };
    };
    const first = await open();
    unwrap(await first.coordinator.plans.put(PROJECT_KEY, PLAN));
    await first.close();
    await appendFile(
      join(root, PROJECT_KEY.tenant_id, PROJECT_KEY.project_id, 'events.jsonl'),
      '{"hash":"half a li',
    );

    const second = await open();
    unwrap(
      await second.coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, agent_id: 'a', session_id: 's1' }),
    );
    await second.close();
    const third = await open();
    const events = await third.store.events(PROJECT_KEY, { after: 0, limit: 100 });
    expect(events.map((event) => event.event_type)).toEqual([
      'PLAN_CHANGED',
      'SESSION_OPENED',
      'CLAIM_ACQUIRED',
    ]);
    await third.close();
  });

  it('F-71: a name that could escape its folder is refused', async () => {
    const coordinator = await Coordinator.open({ store: openMemoryStore() });
    onTestFinished(() => coordinator.close());
    for (const name of ['../other', 'a/b', '..', '.', '', 'a\0b', '/etc']) {
      const claim = { task_id: A, agent_id: 'a', session_id: 's1' };
      expect(isProblem(await coordinator.plans.put({ ...PROJECT_KEY, project_id: name }, PLAN))).toBe(true);
      expect(isProblem(await coordinator.plans.put({ ...PROJECT_KEY, tenant_id: name }, PLAN))).toBe(true);
      expect(isProblem(await coordinator.claims.claimTask(PROJECT_KEY, { ...claim, agent_id: name }))).toBe(
        true,
      );
      expect(isProblem(await coordinator.claims.claimTask(PROJECT_KEY, { ...claim, session_id: name }))).toBe(
        true,
      );
    }
  });
});

forEachStore('findings of the protocol review', (open) => {
  it('F-10 and F-61: a request repeated after a restart has no second effect and gets the first reply', async () => {
    const harness = await open();
    await harness.plan(PLAN);
    const agent = new HarnessAgent(harness, 'a', 's1');
    const first = await agent.claim(A, { request_id: 'r-1' });
    const position = await harness.position();
    await harness.restart();
    expect(await agent.claim(A, { request_id: 'r-1' })).toEqual(first);
    expect(await harness.position()).toBe(position);
  });

  // req: CLK-010, TEN-001
  it('F-16: the same ids in two tenants or two projects are independent', async () => {
    const harness = await open();
    const scopes = [
      PROJECT_KEY,
      { ...PROJECT_KEY, tenant_id: 'other' },
      { ...PROJECT_KEY, project_id: 'site' },
    ];
    for (const projectKey of scopes) await harness.plan(PLAN, projectKey);
    const [here, there, beside] = scopes.map(
      (projectKey) => new HarnessAgent(harness, 'primary', 's1', null, projectKey),
    );
    expect((await here!.claim(A)).claim?.generation).toBe(1);
    expect((await here!.submit(A)).accepted).toBe(true);
    for (const agent of [there!, beside!]) {
      expect((await agent.claim(A)).claim?.generation).toBe(1);
    }
    const query = { after: 0, limit: 100, agent_id: 'primary' };
    const seen = await harness.store.events(scopes[1]!, query);
    expect(seen.map((event) => event.event_type)).toEqual(['SESSION_OPENED', 'CLAIM_ACQUIRED']);
    const claims = unwrap(await harness.coordinator.sessions.claimsOf('other', 's1')).claims;
    expect(claims.map(({ tenant_id, project_id }) => [tenant_id, project_id])).toEqual([['other', 'shop']]);
  });

  it('F-80: the order of events comes from the commit, never from the clock', async () => {
    const harness = await open();
    await harness.plan(planOf(A, 'A-002-more'));
    const agent = new HarnessAgent(harness, 'a', 's1');
    await agent.claim(A);
    harness.environment.clock.stepWall(-3_600_000);
    harness.advance(1);
    await agent.claim('A-002-more');
    await agent.submit(A);
    const events = await harness.events();
    expect(events.map((event) => event.position)).toEqual(events.map((_, index) => index + 1));
    // The timestamps of one subject never decrease, whatever the clock does.
    const times = events.filter((event) => event.subject === A).map((event) => event.timestamp);
    expect([...times].sort()).toEqual(times);
  });

  // req: LSE-009
  it('F-53: a jump of the wall clock does not expire a claim that is renewed in time', async () => {
    const harness = await open();
    await harness.plan(PLAN);
    const [alice, bob] = [new HarnessAgent(harness, 'alice', 's1'), new HarnessAgent(harness, 'bob', 's2')];
    await alice.claim(A, { lease_duration_seconds: 300 });
    harness.environment.clock.stepWall(3_600_000);
    for (let renewal = 0; renewal < 5; renewal += 1) {
      harness.advance(120);
      expect((await bob.claim(A)).reason).toBe('DENIED_ACTIVE_CLAIM');
      expect((await alice.renew(A)).reason).toBe('RENEWED');
    }
    // The clock of the store catches up at one and a half times real time, so 201 seconds exceed the lease.
    harness.advance(201);
    expect((await bob.claim(A)).reason).toBe('GRANTED');
  });
});
