import { expect, it, vi } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { LogAudit } from '../../core/audit/log-audit.js';
import type { ProjectKey } from '../../stores/store.js';
import { OPEN_CALLER } from '../authentication/caller.js';
import { Coordinator } from '../coordinator.js';
import { payloadDigest, sha256 } from './audit-hash.js';
import type { AuditOptions } from './signer.js';
import { newAuditSigner } from './testing.js';
import { verifySignatureSync } from './verify-signature.js';

const TASKS = Array.from({ length: 9 }, (_, at) => `A-00${at + 1}-part`);
const OTHER: ProjectKey = { ...PROJECT_KEY, project_id: 'shed' };
const ROOT = { ...OPEN_CALLER, user_id: 'root' };

/** Runs a coordinator with a key, which writes a plan and a checkpoint in each project. Returns its alarms. */
async function runWith(
  harness: CoordinatorHarness,
  audit: AuditOptions,
  projects = [PROJECT_KEY],
  work: (coordinator: Coordinator) => Promise<unknown> = async () => {},
): Promise<string[]> {
  const { store, environment } = harness;
  const coordinator = await Coordinator.open({ store, environment, audit });
  runs += 1;
  for (const projectKey of projects)
    unwrap(await coordinator.plans.put(projectKey, planOf(...TASKS.slice(0, (runs % 8) + 1))));
  await coordinator.audit.checkpoint();
  await work(coordinator);
  await coordinator.audit.stop();
  coordinator.close();
  return [...coordinator.audit.alarms()].map(({ alarm }) => alarm);
}
let runs = 0;

async function auditOf(harness: CoordinatorHarness, projectKey = PROJECT_KEY) {
  const audit = new LogAudit({ hash: sha256, verify: verifySignatureSync, project: projectKey });
  for (const event of await harness.events(projectKey)) audit.visit(event, payloadDigest(event.payload));
  const { checkpoints, faults } = audit.result();
  return { checkpoints, codes: faults.map(({ code }) => code) };
}

const enrolmentEvents = async (harness: CoordinatorHarness, projectKey = PROJECT_KEY) =>
  (await harness.events(projectKey))
    .filter(({ event_type }) => event_type === 'AUDIT_KEY_ENROLLED')
    .map(({ payload }) => [payload.how, payload.key_id, payload.previous_key_id]);

forEachStore('audit keys', (open) => {
  it('are rotated by the newest previous key that is active, also after two rotations', async () => {
    const harness = await open();
    const [one, two, three] = [newAuditSigner(), newAuditSigner(), newAuditSigner()];
    await runWith(harness, { signer: one }, [PROJECT_KEY, OTHER]);
    await runWith(harness, { signer: two, previousSigners: [one] });
    const alarms = await runWith(harness, { signer: three, previousSigners: [two, one] }, [
      PROJECT_KEY,
      OTHER,
    ]);
    expect(alarms).toEqual([]);
    expect(await enrolmentEvents(harness)).toEqual([
      ['first', one.key_id, undefined],
      ['rotated', two.key_id, one.key_id],
      ['rotated', three.key_id, two.key_id],
    ]);
    expect(await enrolmentEvents(harness, OTHER)).toEqual([
      ['first', one.key_id, undefined],
      ['rotated', three.key_id, one.key_id],
    ]);
    expect(await auditOf(harness)).toEqual({ checkpoints: 3, codes: [] });
    expect(await auditOf(harness, OTHER)).toEqual({ checkpoints: 2, codes: [] });
  });

  it('sign nothing after their rotation, and the alarm tells the operator to restart the coordinator', async () => {
    const harness = await open();
    const [one, two] = [newAuditSigner(), newAuditSigner()];
    await runWith(harness, { signer: one });
    await runWith(harness, { signer: two, previousSigners: [one] });
    const [alarm] = await runWith(harness, { signer: one });
    expect(alarm).toMatch(
      /the key it signs with has ended: .* was already rotated\. Restart the coordinator with the new key of the project/,
    );
    expect(await auditOf(harness)).toEqual({ checkpoints: 2, codes: [] });
  });

  it('are not enrolled by a rotation that another key signed', async () => {
    const harness = await open();
    const [one, two, three] = [newAuditSigner(), newAuditSigner(), newAuditSigner()];
    await runWith(harness, { signer: one });
    const forged = { ...one, sign: three.sign };
    const [alarm] = await runWith(harness, { signer: two, previousSigners: [forged] });
    expect(alarm).toContain(`${one.key_id} did not sign the key ${two.key_id}`);
    expect(await auditOf(harness)).toEqual({ checkpoints: 1, codes: ['BAD_SIGNATURE'] });
  });

  it('sign no checkpoint once all have ended, until an administrator replaces one', async () => {
    const harness = await open();
    const [one, two] = [newAuditSigner(), newAuditSigner()];
    await runWith(harness, { signer: one }, [PROJECT_KEY], async (coordinator) => {
      const body = { key_id: one.key_id, reason: 'stolen' };
      const reply = unwrap(await coordinator.audit.revokeKey(PROJECT_KEY, body, ROOT));
      expect(reply).toMatchObject({ success: true, reason: 'REVOKED', keys: [{ state: 'revoked' }] });
      expect(reply.next).toMatch(/gen audit replace.*no checkpoint is written/);
    });
    const alarms = await runWith(harness, { signer: two }, [PROJECT_KEY], async (coordinator) => {
      const [current] = [...coordinator.audit.alarms()];
      expect(current?.alarm).toContain(`An administrator must run gen audit replace ${one.key_id}`);
      expect(await auditOf(harness)).toEqual({ checkpoints: 1, codes: [] });
      const reply = await coordinator.audit.replaceKey(
        PROJECT_KEY,
        { key_id: one.key_id, reason: 'stolen' },
        ROOT,
      );
      expect(unwrap(reply)).toMatchObject({
        reason: 'REPLACED',
        keys: [
          { key_id: one.key_id, state: 'revoked', how: 'first' },
          { key_id: two.key_id, state: 'active', how: 'replaced' },
        ],
      });
      expect(unwrap(reply).next).toBe(undefined);
    });
    expect(alarms).toEqual([]);
    expect(await auditOf(harness)).toEqual({ checkpoints: 2, codes: [] });
    const last = (await harness.events()).findLast(({ payload }) => payload.how === 'replaced');
    expect(last?.payload).toMatchObject({ by: 'root', reason: 'stolen' });
  });

  it('can be replaced by a key that is already enrolled, for example after the loss of an old key file', async () => {
    const harness = await open();
    const [lost, alsoLost, current] = [newAuditSigner(), newAuditSigner(), newAuditSigner()];
    await runWith(harness, { signer: lost });
    await runWith(harness, { signer: alsoLost });
    await runWith(harness, { signer: current }, [PROJECT_KEY], async ({ audit }) => {
      for (const { key_id } of [lost, alsoLost])
        expect(unwrap(await audit.replaceKey(PROJECT_KEY, { key_id, reason: 'lost' }, ROOT)).success).toBe(
          true,
        );
      const { keys } = unwrap(await audit.keys(PROJECT_KEY));
      expect(keys.map(({ state, how }) => [state, how])).toEqual([
        ['revoked', 'first'],
        ['revoked', 'first'],
        ['active', 'replaced'],
      ]);
    });
    expect((await auditOf(harness)).codes).toEqual([]);
  });

  it('are not changed by a command that names the wrong key, and a repeated request gets its first reply', async () => {
    const harness = await open();
    const [one, two] = [newAuditSigner(), newAuditSigner()];
    await runWith(harness, { signer: one });
    await runWith(harness, { signer: two }, [PROJECT_KEY], async ({ audit }) => {
      const reason = 'lost';
      const unknown = unwrap(await audit.revokeKey(PROJECT_KEY, { key_id: '0'.repeat(16), reason }, ROOT));
      expect(unknown).toMatchObject({ success: false, reason: 'UNKNOWN_AUDIT_KEY' });
      expect(unknown.next).toContain(`Known: ${one.key_id}, ${two.key_id}.`);
      const currentReply = await audit.replaceKey(PROJECT_KEY, { key_id: two.key_id, reason }, ROOT);
      expect(currentReply).toMatchObject({ success: false, reason: 'AUDIT_KEY_NOT_NEW' });
      const request = { key_id: one.key_id, reason, request_id: 'r-1' };
      const done = { success: true, reason: 'REPLACED' };
      expect(await audit.replaceKey(PROJECT_KEY, request, ROOT)).toMatchObject(done);
      expect(await audit.replaceKey(PROJECT_KEY, request, ROOT)).toMatchObject(done);
      const again = { key_id: one.key_id, reason };
      const ended = { success: false, reason: 'AUDIT_KEY_ENDED' };
      expect(await audit.replaceKey(PROJECT_KEY, again, ROOT)).toMatchObject(ended);
      expect(await audit.revokeKey(PROJECT_KEY, again, ROOT)).toMatchObject(ended);
      expect(await audit.revokeKey(PROJECT_KEY, { key_id: 'nonsense', reason }, ROOT)).toMatchObject({
        problem: 'INVALID_REQUEST',
      });
    });
  });

  it('are not replaced if the server has no audit key', async () => {
    const harness = await open();
    const one = newAuditSigner();
    await runWith(harness, { signer: one });
    const { audit } = harness.coordinator;
    const refused = await audit.replaceKey(PROJECT_KEY, { key_id: one.key_id, reason: 'lost' }, ROOT);
    expect(refused).toMatchObject({ success: false, reason: 'NO_AUDIT_KEY' });
    expect(await audit.revokeKey(PROJECT_KEY, { key_id: one.key_id, reason: 'lost' }, ROOT)).toMatchObject({
      success: true,
    });
  });

  it('are not revoked between the signing of a checkpoint and its recording', async () => {
    const harness = await open();
    const one = newAuditSigner();
    let revoked: Promise<unknown> | null = null;
    let coordinator: Coordinator;
    const slow = {
      ...one,
      sign: async (text: string) => {
        revoked = coordinator.audit.revokeKey(PROJECT_KEY, { key_id: one.key_id, reason: 'stolen' }, ROOT);
        for (let at = 0; at < 20; at += 1) await harness.environment.yieldToEventLoop();
        return one.sign(text);
      },
    };
    const { store, environment } = harness;
    coordinator = await Coordinator.open({ store, environment, audit: { signer: slow } });
    unwrap(await coordinator.plans.put(PROJECT_KEY, planOf(...TASKS)));
    await coordinator.audit.checkpoint();
    expect(await revoked).toMatchObject({ success: true });
    coordinator.close();
    expect(await auditOf(harness)).toEqual({ checkpoints: 1, codes: [] });
  });

  it('raise an alarm while they cannot sign, and try again at every tick', async () => {
    const one = newAuditSigner();
    let isDown = true;
    const warnings: string[] = [];
    const failing = {
      ...one,
      sign: (text: string) => (isDown ? Promise.reject(new Error('Start the service.')) : one.sign(text)),
    };
    const harness = await open({ audit: { signer: failing, warn: (text) => warnings.push(text) } });
    await harness.plan(planOf(...TASKS));
    const passSeconds = async (seconds: number) => {
      harness.advance(seconds);
      harness.environment.runDueTimers();
      await harness.environment.yieldToEventLoop();
    };
    const activeAlarms = () => [...harness.coordinator.audit.alarms()];
    await vi.waitFor(async () => {
      await passSeconds(61);
      expect(activeAlarms()).toEqual([
        { ...PROJECT_KEY, alarm: expect.stringContaining('cannot sign now. Start the service.') },
      ]);
    });
    for (let at = 0; at < 5; at += 1) await passSeconds(2);
    expect(warnings).toEqual([
      expect.stringContaining('No checkpoint of acme/shop was written. The audit key'),
    ]);
    expect((await auditOf(harness)).checkpoints).toBe(0);
    isDown = false;
    let passedSeconds = 0;
    await vi.waitFor(async () => {
      await passSeconds(1.1);
      passedSeconds += 1.1;
      expect(activeAlarms()).toEqual([]);
    });
    // Without the earlier failure, the next checkpoint would be due only a minute after the last attempt.
    expect(passedSeconds).toBeLessThan(50);
    expect(await auditOf(harness)).toEqual({ checkpoints: 1, codes: [] });
    const agent = new HarnessAgent(harness, 'alpha', 's1');
    await agent.claim(TASKS[0]!);
    isDown = true;
    await harness.coordinator.audit.stop();
    expect(activeAlarms()).toHaveLength(1);
  });
});
