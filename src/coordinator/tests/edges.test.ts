import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, unwrap } from '../../../test/support/coordinator-harness.js';
import {
  coordinationConfig,
  evaluatorReport,
  FILES,
  featureFile,
} from '../../../test/support/workspace-files.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { withoutUndefined } from '../../core/without-undefined.js';

const A = 'REQ-F-A#design_code';
const B = 'REQ-F-B#design_code';
const C = 'REQ-F-C#design_code';
const D = 'REQ-F-D#design_code';

const eventsOfType = (events: readonly EventEnvelope[], type: string) =>
  events.filter(({ event_type }) => event_type === type);

forEachStore('edges of a configured project', (open) => {
  async function openConfigured(coordination: Parameters<typeof coordinationConfig>[0] = {}) {
    const harness = await open();
    const configure = async (settings: Parameters<typeof coordinationConfig>[0]) =>
      unwrap(
        await harness.coordinator.settings.configure(PROJECT_KEY, {
          files: { ...FILES, 'coordination.yml': coordinationConfig(settings) },
        }),
      );
    await configure(coordination);
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    const explanationOf = async (subject: string) =>
      unwrap(await harness.coordinator.queries.explain(PROJECT_KEY, subject));
    return { harness, configure, alpha, beta, explanationOf };
  }

  test('can be claimed only if topology, feature and profile include them, and a refusal names what is missing', async () => {
    const { harness, alpha, explanationOf } = await openConfigured();
    const claimReason = async (subject: string) => {
      const { reason, next } = await alpha.claim(subject);
      return `${reason} ${next}`;
    };
    expect(await claimReason('REQ-F-A#design_moon')).toMatch(
      /^UNKNOWN_TASK The topology .* no edge design_moon/,
    );
    expect(await claimReason('REQ-F-X#design_code')).toMatch(/^UNKNOWN_TASK There is no feature REQ-F-X/);
    expect(await claimReason('REQ-F-C#code_unit_tests')).toMatch(
      /^UNKNOWN_TASK The profile poc of REQ-F-C excludes/,
    );
    expect(await explanationOf('REQ-F-C#design_code')).toMatchObject({ claimable: true });
    const event = {
      event_type: 'iteration_completed',
      agent_id: 'alpha',
      payload: { iteration: 1, status: 'iterating' },
    };
    expect(
      await harness.coordinator.holder.appendEvent(PROJECT_KEY, {
        ...event,
        feature_id: 'REQ-F-X',
        edge: 'design_code',
      }),
    ).toMatchObject({ reason: 'UNKNOWN_TASK', next: expect.stringContaining('REQ-F-X') });
    expect(eventsOfType(await harness.events(), 'claim_rejected')).toEqual([]);
  });

  test('are accepted by name alone in a project that was never configured', async () => {
    const harness = await open({ home: PROJECT_KEY });
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    expect(await alpha.claim('REQ-F-X#design_moon')).toMatchObject({ reason: 'GRANTED' });
    expect(await alpha.submit('REQ-F-X#design_moon')).toMatchObject({ reason: 'ACCEPTED' });
    const converged = eventsOfType(await harness.events(), 'edge_converged')[0];
    expect(Object.keys(converged?.payload ?? {}).sort()).toEqual([
      'late',
      'metadata',
      'outcome',
      'result_data',
      'result_id',
      'result_sha256',
      'result_size_bytes',
      'work_product_ref',
    ]);
  });

  // req: EDG-002, ROL-005
  test('have one canonical name, however they are spelled, and a grant records the role', async () => {
    const { harness, alpha, beta } = await openConfigured();
    await alpha.claim('REQ-F-A#Design → Code', { agent_role: 'architect' });
    for (const spelling of ['design_code', 'design->code', 'DESIGN→CODE', 'Design <-> Code']) {
      expect(await beta.claim(`REQ-F-A#${spelling}`)).toMatchObject({
        reason: 'DENIED_ACTIVE_CLAIM',
        current_holder: 'alpha',
      });
    }
    expect(await beta.claim('REQ-F-A#tdd')).toMatchObject({ claim: { task_id: 'REQ-F-A#code_unit_tests' } });
    const events = await harness.events();
    expect(eventsOfType(events, 'edge_started')[0]).toMatchObject({
      agent_role: 'architect',
      agent_id: 'alpha',
    });
    const refused = { agent_id: 'beta', payload: { reason: 'DENIED_ACTIVE_CLAIM', holding_agent: 'alpha' } };
    expect(eventsOfType(events, 'claim_rejected')).toMatchObject([refused, refused, refused, refused]);
  });

  // req: EDG-001, EDG-003, EDG-014, EDG-017, EDG-012
  test('claimed by many agents at once go to one, and the refusals name the holder', async () => {
    const { harness } = await openConfigured();
    const agents = Array.from({ length: 40 }, (_, n) => new HarnessAgent(harness, `agent-${n}`, `s-${n}`));
    const replies = await Promise.all(agents.map((agent) => agent.claim(A, { agent_role: 'architect' })));
    const winner = replies.find(({ success }) => success)?.claim?.agent_id;
    expect(replies.filter(({ success }) => success)).toHaveLength(1);
    const events = await harness.events();
    expect(eventsOfType(events, 'edge_started')).toHaveLength(1);
    const rejected = eventsOfType(events, 'claim_rejected');
    // All callers of an open server are one principal, and the log records 20 refusals per principal.
    expect(rejected).toHaveLength(20);
    expect(new Set(rejected.map(({ agent_id }) => agent_id)).size).toBe(20);
    const history = unwrap(await harness.coordinator.queries.getClaimHistory(PROJECT_KEY, A));
    expect(history.refused_count).toBe(39);
    expect(new Set(rejected.map(({ payload }) => payload.holding_agent))).toEqual(new Set([winner]));
    expect(eventsOfType(events, 'edge_claim')).toEqual([]);
  });

  // req: EDG-013
  test('of different features, claimed at once by different agents, are all granted', async () => {
    const { harness } = await openConfigured();
    const edges = [A, B, C, D];
    const agents = edges.map((_, n) => new HarnessAgent(harness, `agent-${n}`, `s-${n}`));
    const replies = await Promise.all(agents.map((agent, n) => agent.claim(edges[n] ?? '')));
    expect(replies.map(({ reason }) => reason)).toEqual(edges.map(() => 'GRANTED'));
    const events = await harness.events();
    expect(
      eventsOfType(events, 'edge_started')
        .map(({ subject }) => subject)
        .sort(),
    ).toEqual(edges);
    expect(eventsOfType(events, 'claim_rejected')).toEqual([]);
  });

  // req: EDG-007
  test('claimed by another agent cannot be renewed, released or converged', async () => {
    const { harness, alpha, beta } = await openConfigured();
    await alpha.claim(A);
    const { session_id: _, ...handle } = alpha.handle(A);
    const { generation: expected_generation, ...handleFields } = { ...handle, session_id: 's2' };
    const theirs = { ...handleFields, expected_generation };
    const { coordinator } = harness;
    expect(await coordinator.holder.renewLease(PROJECT_KEY, theirs)).toMatchObject({
      reason: 'SESSION_MISMATCH',
    });
    expect(await coordinator.holder.releaseClaim(PROJECT_KEY, theirs)).toMatchObject({
      reason: 'SESSION_MISMATCH',
    });
    const result = { ...handle, session_id: 's2', result_data: 'stolen' };
    expect(await coordinator.holder.submitResult(PROJECT_KEY, result)).toMatchObject({
      reason: 'SESSION_MISMATCH',
    });
    expect((await beta.claim(A)).current_holder).toBe('alpha');
  });

  // req: STL-001, STL-008, STL-009
  test('are reported stale once per stale period, and neither report nor refusal counts as activity', async () => {
    const { harness, alpha, beta } = await openConfigured({ claims: { stale_threshold_seconds: 60 } });
    await alpha.claim(A);
    await beta.claim(B);
    harness.advance(50);
    await alpha.claim(B);
    await beta.renew(B);
    harness.advance(20);
    const expiredSubjects = async () =>
      eventsOfType(await harness.events(), 'claim_expired').map(({ subject }) => subject);
    for (let round = 0; round < 3; round += 1) {
      await harness.coordinator.sweep();
      harness.advance(30);
      expect(await beta.renew(B)).toMatchObject({ reason: 'RENEWED' });
    }
    // Alpha was refused B in between, and its own expiry was recorded. Neither starts a new stale period.
    expect(await expiredSubjects()).toEqual([A]);
    expect(await beta.claim(A)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM', stale: true });
    await alpha.renew(A);
    harness.advance(61);
    await harness.coordinator.sweep();
    expect((await expiredSubjects()).filter((subject) => subject === A)).toEqual([A, A]);
  });

  test('are granted with a warning until the edges they build on have converged', async () => {
    const { alpha } = await openConfigured();
    const early = await alpha.claim(A, { agent_role: 'architect' });
    expect(early).toMatchObject({ reason: 'GRANTED' });
    expect(early.warnings).toEqual([
      expect.stringMatching(/^design_code builds on requirements_design, for which REQ-F-A has no accepted/),
    ]);
    const tests = { agent_role: 'full_stack' };
    expect((await alpha.claim('REQ-F-A#code_unit_tests', tests)).warnings).toEqual([
      expect.stringMatching(/^code_unit_tests builds on design_code/),
    ]);
    await alpha.release('REQ-F-A#code_unit_tests');
    expect(await alpha.submit(A, 'done', evaluatorReport())).toMatchObject({ accepted: true });
    expect(await alpha.claim('REQ-F-A#code_unit_tests', tests)).not.toHaveProperty('warnings');
  });

  test('claimed in an undefined role are granted with a warning that lists the defined roles', async () => {
    const { harness } = await openConfigured();
    const { coordinator } = harness;
    const request = { task_id: A, agent_id: 'alpha', session_id: 's1', agent_role: 'wizard' };
    expect(await coordinator.claims.claimTask(PROJECT_KEY, request)).toHaveProperty(
      'warnings.0',
      expect.stringMatching(/no role "wizard".*architect, .*full_stack/),
    );
    const definedRole = { ...request, task_id: C, agent_role: 'full_stack' };
    const granted = unwrap(await coordinator.claims.claimTask(PROJECT_KEY, definedRole));
    expect(granted.success && granted.warnings?.join()).not.toContain('role');
  });

  test('claimed without a role that may converge them are granted with a warning that names the roles that may', async () => {
    const { harness } = await openConfigured();
    const claim = async (task_id: string, agent_role?: string) => {
      const request = { task_id, agent_id: 'alpha', session_id: 's1', ...withoutUndefined({ agent_role }) };
      const reply = unwrap(await harness.coordinator.claims.claimTask(PROJECT_KEY, request));
      return (reply.success && reply.warnings?.[0]) ?? '';
    };
    expect(await claim(A)).toMatch(
      /^An agent without a role may not converge design_code: the result will wait for a person\. Claim with a role: .*full_stack/,
    );
    expect(await claim(C, 'human')).not.toContain('role');
  });

  // req: RTE-006, RTE-007
  test('that share modules with edges of other holders are granted with a warning', async () => {
    const { alpha, beta } = await openConfigured();
    const sharingWarnings = async (agent: HarnessAgent, subject: string) =>
      (await agent.claim(subject)).warnings?.filter((says) => says.includes(' holds ')) ?? [];
    expect(await sharingWarnings(alpha, A)).toEqual([]);
    expect(await sharingWarnings(beta, B)).toEqual([
      expect.stringMatching(/alpha holds REQ-F-A#design_code.*auth/),
    ]);
    expect(await beta.claim(C, { agent_role: 'architect' })).not.toHaveProperty('warnings.1');
    expect(await sharingWarnings(beta, D)).toEqual([expect.stringMatching(/alpha holds .* is unknown/)]);
  });

  test('that share modules are refused if the rule is enforced, and unknown modules give a warning', async () => {
    const { harness, alpha, beta, explanationOf } = await openConfigured({ enforce: true });
    await alpha.claim(A);
    expect(await beta.claim(B)).toMatchObject({
      success: false,
      reason: 'DENIED_PARALLEL',
      shared_modules: ['auth'],
      holders: [{ task_id: A, agent_id: 'alpha', shared_modules: ['auth'] }],
    });
    const denied = { claimable: false, why: [{ rule: 'DENIED_PARALLEL' }] };
    expect(await explanationOf(B)).toMatchObject(denied);
    expect(eventsOfType(await harness.events(), 'claim_rejected')).toMatchObject([
      { agent_id: 'beta', payload: { holding_agent: 'alpha', shared_modules: ['auth'] } },
    ]);
    expect(await beta.claim(C)).toMatchObject({ reason: 'GRANTED' });
    expect(await beta.claim(D)).toMatchObject({
      reason: 'GRANTED',
      warnings: expect.arrayContaining([expect.stringMatching(/is unknown/)]),
    });
    expect(await alpha.claim(B)).toMatchObject({ reason: 'GRANTED' });
    await alpha.release(B);
    // The last holder of B has A, too: only that agent could claim it again.
    expect(await explanationOf(B)).toMatchObject(denied);
    await alpha.release(A);
    expect(await explanationOf(B)).toMatchObject({ claimable: true });
    expect(await beta.claim(B)).toMatchObject({ reason: 'GRANTED' });
  });

  test('that share modules and are claimed at once go to one agent if the rule is enforced', async () => {
    const { harness, alpha, beta } = await openConfigured({ enforce: true });
    const replies = await Promise.all([alpha.claim(A), beta.claim(B), beta.claim(C)]);
    expect(replies.map(({ reason }) => reason)).toEqual(['GRANTED', 'DENIED_PARALLEL', 'GRANTED']);
    const both = await alpha.claimBatch([B, 'REQ-F-B#requirements_design'], {}, 'all_or_nothing');
    expect(both.map(({ reason }) => reason)).toEqual(['GRANTED', 'GRANTED']);
    const theirs = await beta.claimBatch([D, 'REQ-F-A#requirements_design'], {}, 'all_or_nothing');
    expect(theirs.map(({ reason }) => reason)).toEqual(['DENIED_BATCH', 'DENIED_PARALLEL']);
    expect(eventsOfType(await harness.events(), 'edge_started')).toHaveLength(4);
  });

  // req: SGL-001, SGL-003, SGL-006
  test('can be claimed only by primary in single-agent mode, without a lease and never stale', async () => {
    const { harness, configure, alpha, explanationOf } = await openConfigured({
      mode: 'single',
      claims: { max_hold_seconds: 60 },
    });
    const primary = new HarnessAgent(harness, 'primary', 's0');
    expect(await alpha.claim(A)).toMatchObject({
      reason: 'DENIED_SINGLE_AGENT',
      next: expect.stringContaining('coordination.mode: multi'),
    });
    expect(await explanationOf(A)).toMatchObject({
      claimable: false,
      why: [{ rule: 'DENIED_SINGLE_AGENT' }],
    });
    const { claim } = await primary.claim(A, { lease_duration_seconds: 60 });
    expect(claim).toMatchObject({ generation: 1, lease_duration_seconds: null, expires_at: null });
    expect(eventsOfType(await harness.events(), 'edge_started')).toMatchObject([
      { agent_id: 'primary', agent_role: 'full_stack' },
    ]);
    harness.advance(100 * 24 * 3600);
    expect(await harness.coordinator.sweep()).toBe(0);
    await configure({ mode: 'multi' });
    expect(await alpha.claim(A)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM', current_holder: 'primary' });
    expect((await explanationOf(A)).why[0]?.says).toMatch(/ until the holder or an operator/);
    await harness.coordinator.decisions.operate(
      PROJECT_KEY,
      A,
      'force_release',
      { expected_generation: 1, reason: 'multi' },
      personCaller('rita'),
    );
    expect(await alpha.claim(A)).toMatchObject({ reason: 'GRANTED', claim: { generation: 2 } });
  });

  // req: SGL-004
  test('have events of one format in single-agent mode and in multi-agent mode', async () => {
    const { harness, configure, alpha } = await openConfigured({ mode: 'single' });
    unwrap(await new HarnessAgent(harness, 'primary', 's0').claim(A));
    await configure({ mode: 'multi' });
    unwrap(await alpha.claim(B, { agent_role: 'full_stack' }));
    const [single, multi] = eventsOfType(await harness.events(), 'edge_started');
    const fieldsOf = (event: EventEnvelope | undefined) =>
      [...Object.keys(event ?? {}), ...Object.keys(event?.payload ?? {})].sort();
    expect(fieldsOf(multi)).toContain('event_type');
    expect(fieldsOf(single)).toEqual(fieldsOf(multi));
  });

  test('of a new feature can be claimed once it is configured, and not before', async () => {
    const { harness, alpha } = await openConfigured();
    expect((await alpha.claim('REQ-F-N#design_code')).reason).toBe('UNKNOWN_TASK');
    const files = { ...FILES, 'features/active/REQ-F-N.yml': featureFile('REQ-F-N') };
    await harness.coordinator.settings.configure(PROJECT_KEY, { files });
    expect((await alpha.claim('REQ-F-N#design_code')).reason).toBe('GRANTED');
  });
});
