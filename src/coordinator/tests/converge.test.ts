import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { candidateDigest } from '../../../test/support/candidate-digest.js';
import { forEachStore, PROJECT_KEY, unwrap } from '../../../test/support/coordinator-harness.js';
import { evaluatorReport, FILES } from '../../../test/support/workspace-files.js';
import { canonicalJson } from '../../core/canonical-json.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import type { AnyHead } from '../../core/fold.js';
import { OPEN_CALLER } from '../authentication/caller.js';

const EDGE = 'REQ-F-A#design_code';
const SPEC = 'REQ-F-A#intent_requirements';

const manifestOf = (...paths: string[]) => ({ files: paths.map((path) => ({ path, sha256: 'ab' })) });
const rolesFile = (action: string) =>
  `roles:\n  architect: { converge_edges: [design_code] }\nauthority: { outside_authority_action: ${action}, spec_mutation_requires_human: true }\n`;

forEachStore('an edge of a configured project', (open) => {
  async function openConfigured(extraFiles: Record<string, string> = {}) {
    const harness = await open();
    unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files: { ...FILES, ...extraFiles } }));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const review = (decision: string, fields: object) =>
      harness.coordinator.decisions.recordReview(
        PROJECT_KEY,
        { task_id: EDGE, generation: 1, iteration: 1, decision, ...fields },
        personCaller('rita'),
      );
    const lastEvent = async (type: string) =>
      (await harness.events()).filter(({ event_type }) => event_type === type).at(-1);
    const findLogViolations = async () => {
      const checker = new PolicyAwareLogChecker();
      const eventViolations = (await harness.events()).flatMap((event) => checker.checkEvent(event));
      const heads = (await harness.store.scanHeads(PROJECT_KEY, { after: null, limit: 1000 })) as AnyHead[];
      return [...eventViolations, ...checker.checkHeads(heads)];
    };
    return { harness, coordinator: harness.coordinator, alpha, review, lastEvent, findLogViolations };
  }

  // req: EVL-002, EVL-005
  test('converges when its required checks have passed, and records the evidence', async () => {
    const { alpha, lastEvent } = await openConfigured();
    await alpha.claim(EDGE, { agent_role: 'architect' });
    const body = { ...evaluatorReport(), iteration: 3, context_hash: 'sha256:11' };
    expect(await alpha.submit(EDGE, { made: 'it' }, body)).toMatchObject({
      accepted: true,
      reason: 'ACCEPTED',
    });
    expect(await lastEvent('edge_converged')).toMatchObject({
      agent_role: 'architect',
      payload: {
        iteration: 3,
        convergence_type: 'standard',
        context_hash: 'sha256:11',
        ...evaluatorReport(),
      },
    });
  });

  // req: EVL-002
  test('does not converge while a required check is missing, failing or skipped, and stays with its holder', async () => {
    const { harness, alpha } = await openConfigured();
    await alpha.claim(EDGE, { agent_role: 'architect' });
    const failingCheckNames = async (report: object) => {
      const reply = await alpha.submit(EDGE, 'v1', { ...report });
      expect(reply).toMatchObject({
        accepted: false,
        reason: 'NOT_CONVERGED',
        work_lost: false,
        parked: null,
      });
      return reply.failing?.map(({ name }) => name);
    };
    expect(await failingCheckNames({})).toEqual(['compiles', 'reads_well']);
    expect(await failingCheckNames(evaluatorReport({ compiles: 'pass' }))).toEqual(['reads_well']);
    expect(await failingCheckNames(evaluatorReport({ compiles: 'fail', reads_well: 'pass' }))).toEqual([
      'compiles',
    ]);
    expect(await failingCheckNames(evaluatorReport({ compiles: 'skip', reads_well: 'pending' }))).toEqual([
      'compiles',
      'reads_well',
    ]);
    const refused = (await harness.events()).filter(({ event_type }) => event_type === 'result_rejected');
    expect(refused.map(({ payload }) => payload.failing)).toEqual([
      ['compiles', 'reads_well'],
      ['reads_well'],
      ['compiles'],
      ['compiles', 'reads_well'],
    ]);
    expect(await alpha.renew(EDGE)).toMatchObject({ reason: 'RENEWED' });
    expect(await alpha.submit(EDGE, 'v1', evaluatorReport())).toMatchObject({ accepted: true });
  });

  test('does not trust the role human of a claim made before the project had roles', async () => {
    const harness = await open({ home: PROJECT_KEY });
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const agent = { ...OPEN_CALLER, principal: 'key-1', may_review: false };
    await alpha.claim(EDGE, { agent_role: 'human' });
    const rolesWithHuman = 'roles:\n  human: { converge_edges: all }\n';
    unwrap(
      await harness.coordinator.settings.configure(PROJECT_KEY, {
        files: { ...FILES, 'agent_roles.yml': rolesWithHuman },
      }),
    );
    const body = { task_id: EDGE, session_id: 's1', generation: 1, result_data: 'v1', ...evaluatorReport() };
    expect(await harness.coordinator.holder.submitResult(PROJECT_KEY, body, agent)).toMatchObject({
      reason: 'ESCALATED',
    });
  });

  test('is refused with a manifest that cannot be promoted', async () => {
    const { alpha, coordinator } = await openConfigured();
    await alpha.claim(EDGE, { agent_role: 'architect' });
    const file = {
      path: 'a',
      sha256: candidateDigest('a'),
      size_bytes: 3,
      executable: false,
      base_sha256: null,
    };
    const filesResult = (...changed: object[]) => ({ kind: 'files', files: changed, total_bytes: 3 });
    const submit = (result: object) =>
      coordinator.holder.submitResult(PROJECT_KEY, {
        ...{ task_id: EDGE, session_id: 's1', generation: 1 },
        ...{ result_data: result, ...evaluatorReport() },
      });
    const outside = filesResult({ ...file, path: '../a' });
    expect(await submit(outside)).toMatchObject({
      problem: 'INVALID_REQUEST',
      detail: expect.stringContaining('result_data.files.0.path'),
    });
    expect(await submit(filesResult(file))).toMatchObject({ problem: 'BLOB_MISSING' });
    const bytes = Buffer.from(canonicalJson('a'));
    unwrap(await coordinator.blobs.putBlob('other', file.sha256, bytes));
    expect(await submit(filesResult(file))).toMatchObject({ problem: 'BLOB_MISSING' });
    unwrap(await coordinator.blobs.putBlob(PROJECT_KEY.tenant_id, file.sha256, bytes));
    expect(await submit(filesResult(file))).toMatchObject({ accepted: true });
  });

  // req: HUM-001, HUM-002, HUM-004
  test('that requires a person waits for the approval of exactly the submitted candidate', async () => {
    const { coordinator, alpha, review, lastEvent, findLogViolations } = await openConfigured();
    await alpha.claim(SPEC, { agent_role: 'architect' });
    const passed = {
      evaluators: evaluatorReport({ complete: 'pass', wanted: 'pass' }).evaluators,
      iteration: 2,
    };
    expect(await alpha.submit(SPEC, 'v1', passed)).toMatchObject({
      ...{ accepted: false, reason: 'ESCALATED' },
      next: expect.stringMatching(
        /^A person must review this result: the edge has a check that only a person can pass\. .*gen review/,
      ),
    });
    expect(await lastEvent('convergence_escalated')).toMatchObject({
      agent_role: 'architect',
      payload: { reason: 'human_review_required', iteration: 2 },
    });
    const state = unwrap(await coordinator.queries.getTaskState(PROJECT_KEY, SPEC));
    expect(state.claim?.state).toBe('SUSPENDED');
    const about = { task_id: SPEC, iteration: 2, candidate_sha256: candidateDigest('v1') };
    expect(await findLogViolations()).toEqual([]);
    expect(await review('APPROVED', { ...about, candidate_sha256: candidateDigest('v2') })).toMatchObject({
      reason: 'STALE_REVIEW',
    });
    expect(await review('APPROVED', about)).toMatchObject({ reason: 'APPROVED' });
    expect(await lastEvent('edge_converged')).toMatchObject({
      payload: { iteration: 2, evaluators: passed.evaluators },
    });
    expect(await findLogViolations()).toEqual([]);
  });

  // req: ROL-002
  test('outside the authority of its holder is escalated, rejected or accepted with a warning, as configured', async () => {
    const outcomeOfAction = async (action: string) => {
      const { alpha, lastEvent, findLogViolations } = await openConfigured({
        'agent_roles.yml': rolesFile(action),
      });
      await alpha.claim('REQ-F-A#code_unit_tests', { agent_role: 'architect' });
      await alpha.release('REQ-F-A#code_unit_tests');
      await alpha.claim(EDGE, { agent_role: 'tester' });
      // The role comes from the grant: a submission cannot set one.
      const { reason, next } = await alpha.submit(EDGE, 'v1', evaluatorReport());
      const event = await lastEvent('convergence_escalated');
      expect(await findLogViolations()).toEqual([]);
      return {
        reason,
        next,
        escalation: event && { seq: event.seq, role: event.agent_role, ...event.payload },
        alpha,
      };
    };
    expect(await outcomeOfAction('escalate')).toMatchObject({
      reason: 'ESCALATED',
      next: expect.stringMatching(
        /^A person must review this result: the role of this agent may not converge the edge/,
      ),
      escalation: { seq: 2, role: 'tester', reason: 'outside_role_authority' },
    });
    const rejected = await outcomeOfAction('reject');
    expect(rejected).toMatchObject({ reason: 'OUTSIDE_AUTHORITY', escalation: undefined });
    expect(await rejected.alpha.renew(EDGE)).toMatchObject({ reason: 'RENEWED' });
    expect(await outcomeOfAction('warn')).toMatchObject({
      reason: 'ACCEPTED',
      escalation: { seq: undefined, role: 'tester', action: 'warn', reason: 'outside_role_authority' },
    });
  });

  // req: WSP-004, WSP-005
  test('needs a person if its files are in the specification, in the body or in a blob', async () => {
    const { harness, coordinator, alpha, lastEvent } = await openConfigured();
    await alpha.claim(EDGE, { agent_role: 'architect' });
    const changes = manifestOf('src/a.ts', 'specification/INTENT.md');
    expect(await alpha.submit(EDGE, changes, evaluatorReport())).toMatchObject({ reason: 'ESCALATED' });
    expect((await lastEvent('convergence_escalated'))?.payload.reason).toBe('spec_mutation');
    const other = 'REQ-F-B#design_code';
    await alpha.claim(other, { agent_role: 'architect' });
    const bytes = Buffer.from(JSON.stringify(manifestOf('docs/adrs/1.md')));
    const blob_sha256 = createHash('sha256').update(bytes).digest('hex');
    await harness.blobs.put(PROJECT_KEY.tenant_id, blob_sha256, bytes);
    const body = { ...alpha.handle(other), blob_sha256, ...evaluatorReport() };
    expect(await coordinator.holder.submitResult(PROJECT_KEY, body)).toMatchObject({ reason: 'ESCALATED' });
    expect((await lastEvent('convergence_escalated'))?.payload.reason).toBe('spec_mutation');
  });

  test('can be converged by a person, unless a deterministic check fails', async () => {
    const { alpha } = await openConfigured({ 'agent_roles.yml': rolesFile('reject') });
    await alpha.claim(EDGE, { agent_role: 'human' });
    const changes = manifestOf('specification/INTENT.md');
    expect(await alpha.submit(EDGE, changes, evaluatorReport({ compiles: 'fail' }))).toMatchObject({
      reason: 'NOT_CONVERGED',
      failing: [{ name: 'compiles' }],
    });
    expect(await alpha.submit(EDGE, changes, evaluatorReport({ compiles: 'pass' }))).toMatchObject({
      reason: 'ACCEPTED',
    });
    await alpha.claim(SPEC, { agent_role: 'human' });
    expect(await alpha.submit(SPEC, 'mine')).toMatchObject({ reason: 'ACCEPTED' });
  });

  test('cannot be claimed as human without a credential that may review', async () => {
    const { coordinator, alpha } = await openConfigured({ 'agent_roles.yml': rolesFile('reject') });
    const agent = { ...OPEN_CALLER, may_review: false };
    const claim = { task_id: EDGE, agent_id: 'alpha', session_id: 's1', agent_role: 'human' };
    expect(await coordinator.claims.claimTask(PROJECT_KEY, claim, agent)).toMatchObject({
      problem: 'FORBIDDEN',
    });
    expect(await coordinator.claims.batchClaim(PROJECT_KEY, { claims: [claim] }, agent)).toMatchObject({
      problem: 'FORBIDDEN',
    });
    const { task_id: _, ...next } = claim;
    expect(await coordinator.claims.next(PROJECT_KEY, { ...next, kinds: ['edge'] }, agent)).toMatchObject({
      problem: 'FORBIDDEN',
    });
    const payload = { intent_id: 'INT-1', trigger: 'x', signal_source: 'gap' };
    const intent = { event_type: 'intent_raised', agent_id: 'alpha', session_id: 's1', payload };
    expect(
      await coordinator.holder.appendEvent(PROJECT_KEY, { ...intent, agent_role: 'human' }, agent),
    ).toMatchObject({
      problem: 'FORBIDDEN',
    });
    expect(
      await coordinator.holder.appendEvent(PROJECT_KEY, { ...intent, agent_role: 'tester' }, agent),
    ).toMatchObject({
      reason: 'APPENDED',
    });
    await alpha.claim(EDGE, { agent_role: 'human' });
    const body = { ...alpha.handle(EDGE), result_data: 'v1', ...evaluatorReport() };
    expect(await coordinator.holder.submitResult(PROJECT_KEY, body, agent)).toMatchObject({
      reason: 'OUTSIDE_AUTHORITY',
    });
  });

  test.each(['Human', 'HUMAN', ' human', 'human\u200b', 'admin', '__proto__'])(
    'is not converged in the role %j',
    async (agent_role) => {
      const { coordinator } = await openConfigured({ 'agent_roles.yml': rolesFile('reject') });
      const agent = { ...OPEN_CALLER, may_review: false, claim_id_optional: true };
      const claim = { task_id: EDGE, agent_id: 'human', session_id: 's1', agent_role };
      const granted = await coordinator.claims.claimTask(PROJECT_KEY, claim, agent);
      expect(granted).toSatisfy((reply: object) => 'problem' in reply || 'claim' in reply);
      const body = { task_id: EDGE, session_id: 's1', generation: 1, result_data: 1, ...evaluatorReport() };
      expect(await coordinator.holder.submitResult(PROJECT_KEY, body, agent)).not.toMatchObject({
        accepted: true,
      });
    },
  );

  test('keeps the role of its grant, whatever events its holder appends', async () => {
    const { coordinator, alpha } = await openConfigured({ 'agent_roles.yml': rolesFile('reject') });
    await alpha.claim(EDGE, { agent_role: 'tester' });
    await alpha.claim(EDGE, { agent_role: 'architect' });
    const payload = { iteration: 1, status: 'iterating' };
    const about = { feature_id: 'REQ-F-A', edge: 'design_code', agent_id: 'alpha', session_id: 's1' };
    const body = { event_type: 'iteration_completed', ...about, generation: 1, agent_role: 'architect' };
    const { claim_id } = alpha.handle(EDGE);
    await coordinator.holder.appendEvent(PROJECT_KEY, { ...body, claim_id, payload });
    expect(await alpha.submit(EDGE, 'v1', evaluatorReport())).toMatchObject({ reason: 'OUTSIDE_AUTHORITY' });
  });

  test('claimed before the project was configured converges only after its feature has a file', async () => {
    const harness = await open({ home: PROJECT_KEY });
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim('REQ-F-OLD#design_code', { agent_role: 'full_stack' });
    await harness.coordinator.settings.configure(PROJECT_KEY, { files: FILES });
    expect(await alpha.submit('REQ-F-OLD#design_code', 'v1', evaluatorReport())).toMatchObject({
      reason: 'NOT_CONVERGED',
      failing: [{ name: 'feature_vector' }],
    });
  });

  test('is adopted from a parked result only if its submitted checks have passed', async () => {
    const { coordinator, alpha, lastEvent, findLogViolations } = await openConfigured();
    await alpha.claim(EDGE, { agent_role: 'architect' });
    const operatorFields = { expected_generation: 1, reason: 'gone' };
    await coordinator.decisions.operate(
      PROJECT_KEY,
      EDGE,
      'force_release',
      operatorFields,
      personCaller('rita'),
    );
    const adoptResult = (resultId: string | null) =>
      coordinator.decisions.operate(
        PROJECT_KEY,
        EDGE,
        'adopt',
        { ...operatorFields, result_id: resultId ?? '' },
        personCaller('rita'),
      );
    const unchecked = await alpha.submit(EDGE, 'v1', evaluatorReport({ compiles: 'fail' }));
    const checked = await alpha.submit(EDGE, 'v2', evaluatorReport({ compiles: 'pass' }));
    expect([unchecked.reason, checked.reason]).toEqual(['NO_CLAIM', 'NO_CLAIM']);
    expect(await adoptResult(unchecked.parked)).toMatchObject({
      reason: 'NOT_CONVERGED',
      next: expect.stringContaining('compiles'),
    });
    expect(await adoptResult(checked.parked)).toMatchObject({ reason: 'ADOPTED' });
    expect((await lastEvent('result_adopted'))?.payload).toMatchObject(evaluatorReport({ compiles: 'pass' }));
    expect(await findLogViolations()).toEqual([]);
  });

  test('accepts only well-formed evaluators, and a task accepts none', async () => {
    const { coordinator, alpha } = await openConfigured();
    await alpha.claim(EDGE);
    const submit = (fields: object) =>
      coordinator.holder.submitResult(PROJECT_KEY, { ...alpha.handle(EDGE), result_data: 1, ...fields });
    const malformed = {
      evaluators: { ...evaluatorReport().evaluators, details: [{ name: 'x', result: 'maybe' }] },
    };
    expect(await submit(malformed)).toMatchObject({ problem: 'INVALID_REQUEST' });
    const details = [
      { name: 'compiles', result: 'pass' },
      { name: 'reads_well', result: 'pass' },
      { name: 'extra', result: 'fail' },
    ];
    for (const counts of [
      { passed: 3, failed: 0, skipped: 0, total: 3 },
      { passed: 3, failed: 1, skipped: 0, total: 3 },
      { passed: 2, failed: 0, skipped: 0, total: 3 },
      { passed: 2, failed: 1, skipped: 0, total: 2 },
    ]) {
      expect(await submit({ evaluators: { ...counts, details } })).toMatchObject({
        problem: 'INVALID_REQUEST',
        detail: expect.stringContaining('agree with the details'),
      });
    }
    expect(await submit({ ...evaluatorReport(), task_id: 'A-001-core' })).toMatchObject({
      problem: 'INVALID_REQUEST',
      faults: [{ path: 'evaluators' }],
    });
  });
});
