import { randomUUID } from 'node:crypto';
import { expect, it, type MockInstance, vi } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import type { Anchor } from '../../core/audit/checkpoint.js';
import { checkProof } from '../../core/audit/proof.js';
import { AUDIT_SUBJECT } from '../../core/subject.js';
import type { Store } from '../../stores/store.js';
import { transactionOf } from '../../stores/transaction.js';
import { Coordinator } from '../coordinator.js';
import { isProblem } from '../wire/problem.js';
import { sha256 } from './audit-hash.js';
import type { AuditSink } from './sink.js';
import { newAuditSigner } from './testing.js';
import { verifySignatureSync } from './verify-signature.js';

const TASKS = Array.from({ length: 30 }, (_, at) => `A-${String(at + 1).padStart(3, '0')}-part`);
const CHECKS = { hash: sha256, verify: verifySignatureSync };

/** Claims and completes a task: at least two events. */
async function complete(harness: CoordinatorHarness, index: number): Promise<void> {
  const agent = new HarnessAgent(harness, 'alpha', 's1');
  await agent.claim(TASKS[index]!);
  await agent.submit(TASKS[index]!);
}

/** Runs one round per minute, because the timer is set again only after each round. */
async function passMinutes(harness: CoordinatorHarness, minutes: number): Promise<void> {
  for (let at = 0; at < minutes; at += 1) {
    harness.advance(61);
    harness.environment.runDueTimers();
    await harness.environment.yieldToEventLoop();
  }
}

const checkpointsIn = async (harness: CoordinatorHarness) =>
  (await harness.events()).filter(({ event_type }) => event_type === 'AUDIT_CHECKPOINT');

forEachStore('checkpoints', (open) => {
  it('are written after a minute in which events were added, and not otherwise', async () => {
    const harness = await open({ audit: { signer: newAuditSigner() } });
    await harness.plan(planOf(...TASKS));
    await complete(harness, 0);
    await passMinutes(harness, 2);
    await vi.waitFor(async () => expect(await checkpointsIn(harness)).toHaveLength(1));
    await passMinutes(harness, 5);
    await harness.coordinator.audit.stop();
    expect(await checkpointsIn(harness)).toHaveLength(1);
  });

  it('are written after many events, before the minute is over', async () => {
    const harness = await open({ audit: { signer: newAuditSigner(), every_events: 20 } });
    await harness.plan(planOf(...TASKS));
    await complete(harness, 0);
    await passMinutes(harness, 2);
    await vi.waitFor(async () => expect(await checkpointsIn(harness)).toHaveLength(1));
    for (let at = 1; at < 12; at += 1) await complete(harness, at);
    harness.advance(2);
    harness.environment.runDueTimers();
    await vi.waitFor(async () => expect(await checkpointsIn(harness)).toHaveLength(2));
  });

  it('are written when the coordinator stops, and a restarted one builds on them', async () => {
    const signer = newAuditSigner();
    const harness = await open({ audit: { signer } });
    await harness.plan(planOf(...TASKS));
    for (let at = 0; at < 10; at += 1) await complete(harness, at);
    await harness.coordinator.audit.stop();
    const first = unwrap(await harness.coordinator.audit.lastCheckpoint(PROJECT_KEY));
    await harness.restart();
    for (let at = 10; at < 20; at += 1) await complete(harness, at);
    await harness.coordinator.audit.stop();
    const last = unwrap(await harness.coordinator.audit.lastCheckpoint(PROJECT_KEY));
    expect(last.position).toBeGreaterThan(first.position);
    const consistency = unwrap(
      await harness.coordinator.audit.consistency(PROJECT_KEY, first.position, null),
    );
    expect(checkProof(consistency, CHECKS)).toMatchObject({ ok: true });
    for (let position = 1; position <= last.position; position += 1) {
      const proof = unwrap(await harness.coordinator.audit.proof(PROJECT_KEY, position));
      expect(checkProof(proof, { ...CHECKS, trustedKeys: [signer.key_id] })).toMatchObject({ ok: true });
    }
  });

  it('are written once for a position, even if two coordinators write them', async () => {
    const harness = await open({ audit: { signer: newAuditSigner() } });
    await harness.plan(planOf(...TASKS));
    await complete(harness, 0);
    const other = await harness.openAnother();
    await other.plans.get(PROJECT_KEY);
    await Promise.all([harness.coordinator.audit.stop(), other.audit.stop()]);
    const positions = (await checkpointsIn(harness)).map(({ payload }) => payload.position);
    expect(new Set(positions).size).toBe(positions.length);
  });

  it('keep the leaf of an event that retention redacts', async () => {
    const harness = await open({ audit: { signer: newAuditSigner() } });
    await harness.plan(planOf(...TASKS));
    const agent = new HarnessAgent(harness, 'alpha', 's1');
    await agent.claim(TASKS[0]!);
    await agent.notes(TASKS[0]!, 'a text that retention removes');
    await agent.release(TASKS[0]!, { reason: 'ERROR', message: 'another one' });
    harness.advance(3600);
    await complete(harness, 0);
    await harness.coordinator.audit.stop();
    const before = unwrap(await harness.coordinator.audit.lastCheckpoint(PROJECT_KEY));
    harness.advance(4000 * 24 * 3600);
    expect(await harness.coordinator.redactHistory()).toBeGreaterThan(0);
    await harness.restart();
    for (let position = 1; position <= before.position; position += 1) {
      const proof = unwrap(await harness.coordinator.audit.proof(PROJECT_KEY, position));
      expect(checkProof(proof, CHECKS)).toMatchObject({ ok: true });
    }
  });

  it('cover the record of a redaction in a project that is not loaded', async () => {
    const harness = await open({ audit: { signer: newAuditSigner() } });
    await harness.plan(planOf(...TASKS));
    const agent = new HarnessAgent(harness, 'alpha', 's1');
    await agent.claim(TASKS[0]!);
    await agent.notes(TASKS[0]!, 'a text that retention removes');
    await agent.release(TASKS[0]!);
    await complete(harness, 0);
    harness.advance(4000 * 24 * 3600);
    await harness.restart();
    expect(await harness.coordinator.redactIdleHistory()).toBe(1);
    const { position } = unwrap(await harness.coordinator.audit.lastCheckpoint(PROJECT_KEY));
    const [record] = await harness.store.events(PROJECT_KEY, {
      after: 0,
      limit: 1,
      types: ['HISTORY_FORGOTTEN'],
    });
    expect(position).toBeGreaterThanOrEqual(record?.position ?? Number.POSITIVE_INFINITY);
    expect(record?.payload).toHaveProperty('signature');
  });

  it('are reported as missing before the first one is written', async () => {
    const harness = await open({ audit: { signer: newAuditSigner() } });
    await harness.plan(planOf(...TASKS));
    expect(isProblem(await harness.coordinator.audit.lastCheckpoint(PROJECT_KEY))).toBe(true);
    expect(await harness.coordinator.audit.proof(PROJECT_KEY, 1)).toMatchObject({ problem: 'NOT_FOUND' });
  });

  it('all reach a sink that was down, in order', async () => {
    const sink = new TestSink();
    const harness = await open({ audit: { signer: newAuditSigner(), sinks: [sink] } });
    await harness.plan(planOf(...TASKS));
    sink.isDown = true;
    for (let at = 0; at < 3; at += 1) {
      await complete(harness, at);
      await passMinutes(harness, 2);
      await vi.waitFor(async () => expect(await checkpointsIn(harness)).toHaveLength(at + 1));
    }
    expect(sink.received).toEqual([]);
    await vi.waitFor(() => expect(harness.coordinator.audit.undelivered()).toBe(3));
    sink.isDown = false;
    await vi.waitFor(async () => {
      await passMinutes(harness, 1);
      expect(sink.received).toHaveLength(3);
    });
    const written = (await checkpointsIn(harness)).map(({ payload }) => payload.position);
    expect(sink.received.map(({ position }) => position)).toEqual(written);
    expect(harness.coordinator.audit.undelivered()).toBe(0);
  });

  it('are sent once to a sink, also after a restart', async () => {
    const sink = new TestSink();
    const harness = await open({ audit: { signer: newAuditSigner(), sinks: [sink] } });
    await harness.plan(planOf(...TASKS));
    await complete(harness, 0);
    await harness.coordinator.audit.stop();
    await harness.restart();
    await complete(harness, 1);
    await harness.coordinator.audit.stop();
    const positions = sink.received.map(({ position }) => position);
    expect(positions).toHaveLength(2);
    expect(positions[0]).toBeLessThan(positions[1]!);
  });

  it('are rejected if they list tiles that their tree does not have, because tiles are not signed', async () => {
    const harness = await open({ audit: { signer: newAuditSigner() } });
    await harness.plan(planOf(...TASKS));
    await complete(harness, 0);
    await harness.coordinator.audit.checkpoint();
    const [checkpoint] = await harness.store
      .events(PROJECT_KEY, { subject: AUDIT_SUBJECT, after: 0, limit: 10 })
      .then((events) => events.filter(({ event_type }) => event_type === 'AUDIT_CHECKPOINT'));
    const { position: _, ...event } = checkpoint!;
    const tiles = { first: 4_000_000_000, roots: [event.payload.root] };
    const planted = { ...event, event_id: randomUUID(), payload: { ...event.payload, tiles } };
    await harness.store.commit([transactionOf(PROJECT_KEY, { loose_events: [planted] })]);
    await harness.restart();
    expect(unwrap(await harness.coordinator.audit.lastCheckpoint(PROJECT_KEY)).position).toBe(
      event.payload.position,
    );
    const [alarm] = [...harness.coordinator.audit.alarms()];
    expect(alarm?.alarm).toContain('it lists tiles that its tree does not have');
  });

  it('are sent to a sink only if this coordinator signed them, because an anchor vouches for its key', async () => {
    const sink = new TestSink();
    const harness = await open({ audit: { signer: newAuditSigner(), sinks: [sink] } });
    await harness.plan(planOf(...TASKS));
    await complete(harness, 0);
    const other = await Coordinator.open({
      store: harness.store,
      environment: harness.environment,
      audit: { signer: newAuditSigner() },
    });
    await other.plans.get(PROJECT_KEY);
    await other.audit.stop();
    other.close();
    await complete(harness, 1);
    await harness.coordinator.audit.stop();
    expect(new Set(sink.received.map(({ key_id }) => key_id)).size).toBe(1);
  });

  it('raise an alarm if their signature is for another text', async () => {
    const signer = newAuditSigner();
    const harness = await open({ audit: { signer } });
    await harness.plan(planOf(...TASKS));
    await complete(harness, 0);
    const forged = { ...signer, sign: (text: string) => signer.sign(text.replace('shop', 'shed')) };
    const other = await Coordinator.open({
      store: harness.store,
      environment: harness.environment,
      audit: { signer: forged },
    });
    await other.plans.get(PROJECT_KEY);
    await other.audit.stop();
    other.close();
    await harness.coordinator.audit.stop();
    const [alarm] = [...harness.coordinator.audit.alarms()];
    expect(alarm?.alarm).toContain('its signature is wrong');
  });
});

/** The `until_position` of each read of events that is limited to no subject and no types. */
const lastPositionsRead = (reads: MockInstance<Store['events']>) =>
  reads.mock.calls
    .filter(([, { subject, types }]) => subject === undefined && types === undefined)
    .map(([, { until_position }]) => until_position);

it('reads no events once the tree exists, if the store hands over the leaves of its log', async () => {
  const harness = await CoordinatorHarness.open('file', { audit: { signer: newAuditSigner() } });
  await harness.plan(planOf(...TASKS));
  await complete(harness, 0);
  // The first checkpoint enrols the key and makes the tree.
  await harness.coordinator.audit.checkpoint();
  const reads = vi.spyOn(harness.store, 'events');
  for (const index of [1, 2, 3]) await complete(harness, index);
  await harness.coordinator.audit.checkpoint();
  expect(lastPositionsRead(reads)).toEqual([]);
  expect(await checkpointsIn(harness)).toHaveLength(2);
});

it('reads only the events from before the start of the tree for the first checkpoint', async () => {
  const harness = await CoordinatorHarness.open('file', { audit: { signer: newAuditSigner() } });
  await harness.plan(planOf(...TASKS));
  const { position } = (await harness.store.project(PROJECT_KEY))!;
  const reads = vi.spyOn(harness.store, 'events');
  harness.advance(2);
  harness.environment.runDueTimers();
  await vi.waitFor(() =>
    expect(reads.mock.calls.some(([, { subject }]) => subject === AUDIT_SUBJECT)).toBe(true),
  );
  await harness.environment.yieldToEventLoop();
  for (const index of [0, 1, 2]) await complete(harness, index);
  await harness.coordinator.audit.checkpoint();
  expect(new Set(lastPositionsRead(reads))).toEqual(new Set([position]));
  expect(await checkpointsIn(harness)).toHaveLength(1);
});

class TestSink implements AuditSink {
  readonly name = 'test';
  readonly received: Anchor[] = [];
  isDown = false;

  async lastSent(): Promise<Anchor | null> {
    if (this.isDown) throw new Error('the sink is down');
    return this.received.at(-1) ?? null;
  }

  async send(anchors: readonly Anchor[]): Promise<void> {
    if (this.isDown) throw new Error('the sink is down');
    this.received.push(...anchors);
  }
}
