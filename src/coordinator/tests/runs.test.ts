import { expect, test } from 'vitest';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import {
  evaluatorReport,
  featureFile,
  FILES as WORKSPACE_FILES,
} from '../../../test/support/workspace-files.js';
import { NO_COST } from '../../core/engine/check-outcome.js';
import { OPEN_CALLER } from '../authentication/caller.js';
import { contentEventId } from '../runtime/identity.js';

const FEATURE = 'REQ-F-A';
const EDGE = { feature_id: FEATURE, edge: 'design_code' };
const SUBJECT = `${FEATURE}#design_code`;
const SHA = 'a'.repeat(64);
const COST = { input_tokens: 3, output_tokens: 2, usd: 0.5, seconds: 1 };
const FILES = {
  'graph/edges/design_code.yml': WORKSPACE_FILES['graph/edges/design_code.yml'] as string,
  'engine.yml': 'construct: { type: command, command: [make] }\n',
  [`features/active/${FEATURE}.yml`]: featureFile(FEATURE),
  'features/active/REQ-F-B.yml': featureFile('REQ-F-B'),
};
const MACHINE = { bucket: '', key: SHA, version: SHA };

async function configureProject(harness: CoordinatorHarness, key = PROJECT_KEY): Promise<void> {
  unwrap(await harness.coordinator.settings.configure(key, { files: FILES }));
}

/** An executor that holds the edge, and reports its steps. */
async function executorOf({ coordinator }: CoordinatorHarness, key = PROJECT_KEY) {
  const who = { agent_id: 'engine', session_id: 's-engine' };
  const claimed = unwrap(
    await coordinator.claims.claimTask(key, { task_id: SUBJECT, ...who, agent_role: 'full_stack' }),
  );
  if (!claimed.success) throw new Error(claimed.reason);
  const handle = { ...who, generation: claimed.claim.generation, claim_id: claimed.claim.id };
  const append = (event_type: string, payload: object) =>
    coordinator.holder.appendEvent(key, { event_type, task_id: SUBJECT, ...handle, payload });
  return {
    handle,
    start: (run_id: string) =>
      append('run_started', {
        run_id,
        workflow_type: 'STANDARD',
        machine: MACHINE,
        machine_sha256: SHA,
        config_sha256: SHA,
      }),
    step: (run_id: string) =>
      append('run_step_completed', {
        ...{ run_id, step: 'construct_candidate', iteration: 1, input_sha256: SHA },
        ...{ attempt: 1, duration_ms: 1, output: { says: 'made' }, cost: COST },
      }),
    submit: () =>
      coordinator.holder.submitResult(key, {
        ...{ task_id: SUBJECT, session_id: handle.session_id, claim_id: handle.claim_id },
        ...{ generation: handle.generation, result_data: 'made', ...evaluatorReport() },
      }),
    end: (run_id: string, status: string) =>
      append('run_ended', { run_id, status, reason: null, says: '', iterations: 1, spent: COST }),
  };
}

async function requestRun({ coordinator }: CoordinatorHarness, fields: object = {}) {
  const reply = unwrap(await coordinator.runs.request(PROJECT_KEY, { ...EDGE, ...fields }));
  if (!reply.success || reply.reason === 'DRY_RUN') throw new Error(reply.reason);
  return reply;
}

forEachStore('a request for a run', (open) => {
  test('is refused in a role that the project does not have, with the closest name', async () => {
    const harness = await open();
    await configureProject(harness);
    const body = { ...EDGE, agent_role: 'full_stakk' };
    expect(await harness.coordinator.runs.request(PROJECT_KEY, body)).toMatchObject({
      reason: 'UNKNOWN_ROLE',
      next: expect.stringContaining('The project has no role full_stakk. Did you mean full_stack?'),
    });
    // A role of the credential is not a mistake of this request.
    const callerWithRole = { ...OPEN_CALLER, agent_role: 'ops' };
    expect(await harness.coordinator.runs.request(PROJECT_KEY, EDGE, callerWithRole)).toMatchObject({
      reason: 'REQUESTED',
    });
  });

  test('is recorded once per edge, and the next request gets the run under way', async () => {
    const harness = await open();
    await configureProject(harness);
    const [first, second] = await Promise.all([requestRun(harness), requestRun(harness)]);
    expect([first.reason, second.reason].sort()).toEqual(['REQUESTED', 'UNDER_WAY']);
    expect(second.run.run_id).toBe(first.run.run_id);
    expect((await requestRun(harness)).reason).toBe('UNDER_WAY');
    expect(await harness.eventTypesOf(SUBJECT)).toEqual(['run_requested']);
    expect(unwrap(await harness.coordinator.runs.list(PROJECT_KEY)).runs).toEqual([first.run]);
  });

  test('that is repeated with its request_id gets the same run, also after the run has ended', async () => {
    const harness = await open();
    await configureProject(harness);
    const { run } = await requestRun(harness, { request_id: 'r1' });
    unwrap(await harness.coordinator.runs.cancel(PROJECT_KEY, run.run_id, {}));
    const again = await requestRun(harness, { request_id: 'r1' });
    expect(again).toMatchObject({ reason: 'REQUESTED', run: { run_id: run.run_id, status: 'CANCELLED' } });
    const other = { ...EDGE, feature_id: 'REQ-F-B', request_id: 'r1' };
    expect(await harness.coordinator.runs.request(PROJECT_KEY, other)).toMatchObject({
      problem: 'IDEMPOTENCY_CONFLICT',
    });
  });

  test('is not answered with a run that an agent has recorded under a predicted id', async () => {
    const harness = await open();
    await configureProject(harness);
    const { principal } = OPEN_CALLER;
    const predicted = [
      contentEventId(['run', PROJECT_KEY.tenant_id, PROJECT_KEY.project_id, principal, 'r1']),
      contentEventId(['run', principal, 'r1']),
    ];
    const executor = await executorOf(harness);
    for (const id of predicted) {
      unwrap(await executor.start(id));
      unwrap(await executor.end(id, 'FAILED'));
    }
    const { run, reason } = await requestRun(harness, { request_id: 'r1' });
    expect(reason).toBe('REQUESTED');
    expect(run).toMatchObject({ status: 'REQUESTED', started_at: null });
    expect(predicted).not.toContain(run.run_id);
  });

  test('is refused with the code of the first rule that it breaks', async () => {
    const harness = await open();
    const reasonOf = async (body: object) =>
      unwrap(await harness.coordinator.runs.request(PROJECT_KEY, body)).reason;
    await harness.plan({ tracks: {} });
    expect(await reasonOf(EDGE)).toBe('NOT_INITIALISED');
    const { 'engine.yml': _, ...filesWithoutEngine } = FILES;
    unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files: filesWithoutEngine }));
    expect(await reasonOf({ ...EDGE, feature_id: 'REQ-F-Z' })).toBe('UNKNOWN_FEATURE');
    expect(await reasonOf({ ...EDGE, edge: 'nowhere' })).toBe('UNKNOWN_EDGE');
    expect(await reasonOf({ ...EDGE, retry_of: '0199c1de-0000-7000-8000-000000000001' })).toBe('UNKNOWN_RUN');
    expect(await reasonOf(EDGE)).toBe('NO_CONSTRUCTOR');
    expect(await reasonOf({ ...EDGE, dry_run: true })).toBe('DRY_RUN');
    await configureProject(harness);
    const hold = { expected_generation: 0, reason: 'wait' };
    unwrap(await harness.coordinator.decisions.operate(PROJECT_KEY, SUBJECT, 'hold', hold));
    expect(await harness.coordinator.runs.request(PROJECT_KEY, EDGE)).toMatchObject({
      reason: 'DENIED_HELD',
      next: expect.stringContaining(`gen task unhold ${SUBJECT} --reason`),
    });
  });

  test('can retry only an ended run of the edge that has not converged', async () => {
    const harness = await open();
    await configureProject(harness);
    const { run } = await requestRun(harness);
    const retry = async () =>
      unwrap(await harness.coordinator.runs.request(PROJECT_KEY, { ...EDGE, retry_of: run.run_id }));
    expect((await retry()).reason).toBe('RUN_NOT_ENDED');
    unwrap(await harness.coordinator.runs.cancel(PROJECT_KEY, run.run_id, {}));
    expect(await retry()).toMatchObject({ reason: 'REQUESTED', run: { retry_of: run.run_id } });
  });

  test('cannot be appended as an event, and neither can a cancellation of a claimed run', async () => {
    const harness = await open();
    await configureProject(harness);
    const executor = await executorOf(harness);
    const run_id = '0199c1de-0000-7000-8000-000000000001';
    const forged = { event_type: 'run_requested', task_id: SUBJECT, ...executor.handle };
    expect(
      await harness.coordinator.holder.appendEvent(PROJECT_KEY, {
        ...forged,
        payload: { run_id, retry_of: null },
      }),
    ).toMatchObject({ problem: 'INVALID_EVENT' });
    await executor.start(run_id);
    expect(await executor.end(run_id, 'CANCELLED')).toMatchObject({ success: false });
    const agent = { ...OPEN_CALLER, may_review: false };
    const payload = { run_id, status: 'CANCELLED', reason: null, says: '', iterations: 1, spent: COST };
    const cancel = () =>
      harness.coordinator.holder.appendEvent(
        PROJECT_KEY,
        { event_type: 'run_ended', task_id: SUBJECT, ...executor.handle, payload },
        agent,
      );
    expect(await cancel()).toMatchObject({ problem: 'INVALID_EVENT' });
    const submitted = await executor.submit();
    expect(submitted).toMatchObject({ accepted: true });
    expect(await cancel()).toMatchObject({ success: true });
  });
});

forEachStore('the end of a run', (open) => {
  const run_id = '0199c1de-0000-7000-8000-000000000001';

  test('is not CONVERGED before a result of its edge was accepted', async () => {
    const harness = await open();
    await configureProject(harness);
    const executor = await executorOf(harness);
    unwrap(await executor.start(run_id));
    const refused = unwrap(await executor.end(run_id, 'CONVERGED'));
    expect(refused).toMatchObject({ success: false, reason: 'NOT_CONVERGED' });
    expect(!refused.success && refused.next).toContain(`The phase of ${SUBJECT} is OPEN.`);
    expect(unwrap(await harness.coordinator.runs.show(PROJECT_KEY, run_id)).run).toMatchObject({
      status: 'RUNNING',
    });
    expect(await executor.submit()).toMatchObject({ accepted: true });
    expect(unwrap(await executor.end(run_id, 'CONVERGED'))).toMatchObject({ success: true });
    expect(unwrap(await harness.coordinator.runs.show(PROJECT_KEY, run_id)).run).toMatchObject({
      status: 'CONVERGED',
    });
  });

  test.each(['ESCALATED', 'FAILED'])('is not %s while a result of its edge is accepted', async (status) => {
    const harness = await open();
    await configureProject(harness);
    const executor = await executorOf(harness);
    unwrap(await executor.start(run_id));
    expect(await executor.submit()).toMatchObject({ accepted: true });
    const refused = unwrap(await executor.end(run_id, status));
    expect(refused).toMatchObject({ success: false, reason: 'TASK_ALREADY_COMPLETED' });
    expect(!refused.success && refused.next).toContain(`gen iterate ${SUBJECT}`);
  });

  test('is not followed by a wait for a review, because a wait needs the claim', async () => {
    const harness = await open();
    await configureProject(harness);
    const executor = await executorOf(harness);
    unwrap(await executor.start(run_id));
    expect(await executor.submit()).toMatchObject({ accepted: true });
    const step = { run_id, step: 'request_review', iteration: 1, input_sha256: 'a'.repeat(64), attempt: 1 };
    const append = (event_type: string, fields: object) =>
      harness.coordinator.holder.appendEvent(PROJECT_KEY, {
        ...{ event_type, task_id: SUBJECT, ...executor.handle, payload: { ...step, ...fields } },
      });
    const task = { bucket: 'b', key: 'k', version: 'v' };
    const waiting = { deadline_at: '2026-01-05T06:00:00.000Z', task };
    expect(await append('run_suspended', waiting)).toMatchObject({ success: false });
    expect(await append('run_step_completed', { duration_ms: 1, output: {} })).toMatchObject({
      success: true,
    });
  });

  test('is not recorded by an executor after another one has continued the run', async () => {
    const harness = await open();
    await configureProject(harness);
    const { coordinator } = harness;
    const first = await executorOf(harness);
    unwrap(await first.start(run_id));
    const { agent_id: _, generation, ...handle } = first.handle;
    const released = { task_id: SUBJECT, ...handle, expected_generation: generation, reason: 'VOLUNTARY' };
    unwrap(await coordinator.holder.releaseClaim(PROJECT_KEY, released));
    const other = { task_id: SUBJECT, agent_id: 'b', session_id: 's-b', agent_role: 'full_stack' };
    expect(unwrap(await coordinator.claims.claimTask(PROJECT_KEY, other))).toMatchObject({ success: true });
    expect(unwrap(await first.end(run_id, 'FAILED'))).toMatchObject({ reason: 'GENERATION_MISMATCH' });
    const payload = { run_id, status: 'FAILED', reason: null, says: '', iterations: 1, spent: COST };
    const forged = { event_type: 'run_ended', task_id: SUBJECT, ...first.handle, generation: 2, payload };
    expect(unwrap(await coordinator.holder.appendEvent(PROJECT_KEY, forged))).toMatchObject({
      reason: 'SESSION_MISMATCH',
    });
    expect(unwrap(await coordinator.runs.show(PROJECT_KEY, run_id)).run).toMatchObject({ ended_at: null });
  });
});

forEachStore('a cancelled run', (open) => {
  test('has ended once, its executor has lost the claim, and no later step of it is recorded', async () => {
    const harness = await open();
    await configureProject(harness);
    const { run } = await requestRun(harness);
    const executor = await executorOf(harness);
    unwrap(await executor.start(run.run_id));
    const cancel = () => harness.coordinator.runs.cancel(PROJECT_KEY, run.run_id, { comment: 'wrong' });
    const replies = await Promise.all([cancel(), cancel()]);
    expect(replies.map((reply) => unwrap(reply).reason).sort()).toEqual(['CANCELLED', 'RUN_ENDED']);
    expect(unwrap(await cancel()).reason).toBe('RUN_ENDED');
    expect(unwrap(await executor.step(run.run_id))).toMatchObject({ success: false, reason: 'NO_CLAIM' });
    const types = (await harness.eventTypesOf(SUBJECT)).filter((type) => type !== 'heartbeat');
    expect(types.filter((type) => type === 'run_ended')).toHaveLength(1);
    expect(unwrap(await harness.coordinator.runs.show(PROJECT_KEY, run.run_id)).run).toMatchObject({
      status: 'CANCELLED',
      agent_id: 'engine',
      spent: NO_COST,
    });
    const { claim } = unwrap(await harness.coordinator.queries.getTaskState(PROJECT_KEY, SUBJECT));
    expect(claim).toMatchObject({ state: 'RELEASED' });
  });

  test('gets the same reply to a repeated request, and another run id is unknown', async () => {
    const harness = await open();
    await configureProject(harness);
    const { run } = await requestRun(harness);
    const body = { request_id: 'c1' };
    const first = unwrap(await harness.coordinator.runs.cancel(PROJECT_KEY, run.run_id, body));
    expect(first.reason).toBe('CANCELLED');
    expect(unwrap(await harness.coordinator.runs.cancel(PROJECT_KEY, run.run_id, body))).toEqual(first);
    const unknown = await harness.coordinator.runs.cancel(
      PROJECT_KEY,
      '0199c1de-0000-7000-8000-000000000009',
      {},
    );
    expect(unwrap(unknown).reason).toBe('UNKNOWN_RUN');
  });

  test('is refused while another agent has claimed the edge since', async () => {
    const harness = await open();
    await configureProject(harness);
    const executor = await executorOf(harness);
    const run_id = '0199c1de-0000-7000-8000-000000000001';
    unwrap(await executor.start(run_id));
    const { agent_id: _, generation: __, ...handle } = executor.handle;
    const released = { task_id: SUBJECT, ...handle, expected_generation: 1, reason: 'VOLUNTARY' };
    unwrap(await harness.coordinator.holder.releaseClaim(PROJECT_KEY, released));
    const other = { task_id: SUBJECT, agent_id: 'b', session_id: 's-b', agent_role: 'full_stack' };
    unwrap(await harness.coordinator.claims.claimTask(PROJECT_KEY, other));
    expect(unwrap(await harness.coordinator.runs.cancel(PROJECT_KEY, run_id, {})).reason).toBe(
      'GENERATION_MISMATCH',
    );
  });
});

forEachStore('the runs of a project', (open) => {
  // req: ITR-018
  test('are listed newest first, in pages, by feature and status', async () => {
    const harness = await open();
    await configureProject(harness);
    const ids: string[] = [];
    for (const feature_id of [FEATURE, 'REQ-F-B']) {
      const { run } = await requestRun(harness, { feature_id });
      ids.unshift(run.run_id);
    }
    const { runs } = harness.coordinator;
    const first = unwrap(await runs.list(PROJECT_KEY, { limit: 1 }));
    const second = unwrap(await runs.list(PROJECT_KEY, { limit: 1, after: first.next ?? '' }));
    expect([...first.runs, ...second.runs].map(({ run_id }) => run_id)).toEqual(ids);
    expect(second.next).toBeNull();
    expect(unwrap(await runs.list(PROJECT_KEY, { feature: FEATURE })).runs).toHaveLength(1);
    expect(unwrap(await runs.list(PROJECT_KEY, { status: 'RUNNING' })).runs).toEqual([]);
    expect(await runs.show(PROJECT_KEY, 'x')).toMatchObject({ problem: 'NOT_FOUND' });
    expect(await runs.list(PROJECT_KEY, { after: 'x' })).toMatchObject({ problem: 'INVALID_REQUEST' });
  });

  // req: ITR-019
  test('add up what was spent, by feature, project and tenant, and the health view shows the sum with the budget', async () => {
    const harness = await open();
    const other = { ...PROJECT_KEY, project_id: 'second' };
    const files = { ...FILES, 'engine.yml': `${FILES['engine.yml']}budget: { project: { usd: 9 } }\n` };
    for (const key of [PROJECT_KEY, other]) {
      unwrap(await harness.coordinator.settings.configure(key, { files }));
      const executor = await executorOf(harness, key);
      const run_id = '0199c1de-0000-7000-8000-000000000001';
      unwrap(await executor.start(run_id));
      unwrap(await executor.step(run_id));
    }
    const { spent } = unwrap(await harness.coordinator.runs.spent(PROJECT_KEY, { feature: FEATURE }));
    expect(spent).toEqual({
      features: { [FEATURE]: COST },
      project: COST,
      tenant: { input_tokens: 6, output_tokens: 4, usd: 1, seconds: 2 },
    });
    const health = unwrap(await harness.coordinator.methodology.health(PROJECT_KEY));
    expect(health).toMatchObject({
      spent: { features: { [FEATURE]: COST }, project: COST },
      budget: { project: { usd: 9 } },
    });
    const before = unwrap(await harness.coordinator.methodology.health(PROJECT_KEY, { at: 1 }));
    expect(before.spent.project).toEqual(NO_COST);
  });

  test('report many steps, few of which are recorded as signs of life', async () => {
    const harness = await open();
    await configureProject(harness);
    const executor = await executorOf(harness);
    const run_id = '0199c1de-0000-7000-8000-000000000001';
    unwrap(await executor.start(run_id));
    for (let step = 0; step < 20; step += 1) {
      harness.advance(1);
      unwrap(await executor.step(run_id));
    }
    const signs = (await harness.eventTypesOf(SUBJECT)).filter((type) => type === 'heartbeat');
    expect(signs).toHaveLength(4);
  });
});
