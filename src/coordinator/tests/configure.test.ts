import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { coordinationConfig, FILES, featureFile } from '../../../test/support/workspace-files.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import { checkNewEvent } from '../../core/events/catalogue.js';

forEachStore('configuring a project', (open) => {
  async function openUnconfigured() {
    const harness = await open();
    const configure = async (files: Record<string, string> = FILES, options = {}) =>
      unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files, ...options }));
    const eventTypes = async () => (await harness.events()).map(({ event_type }) => event_type);
    return { harness, configure, eventTypes };
  }

  // req: EVT-017
  test('writes the files into records once, and records that the project is initialised', async () => {
    const { harness, configure, eventTypes } = await openUnconfigured();
    expect(await configure()).toMatchObject({
      success: true,
      reason: 'CONFIGURED',
      version: 1,
      feature_count: 4,
      features_changed: 4,
    });
    const features = Array.from({ length: 4 }, () => 'FEATURE_CHANGED');
    expect(await eventTypes()).toEqual(['METHODOLOGY_CHANGED', ...features, 'project_initialized']);
    const events = await harness.events();
    expect(events.at(-1)?.payload).toMatchObject({ asset_types: 10, transitions: 10, profile: 'standard' });
    for (const { position: _, ...event } of events) expect(checkNewEvent(event)).toEqual({ ok: true });
    const checker = new PolicyAwareLogChecker();
    expect(events.flatMap((event) => checker.checkEvent(event))).toEqual([]);
  });

  test('writes nothing when repeated, also by another coordinator and after a restart', async () => {
    const { harness, configure, eventTypes } = await openUnconfigured();
    await configure();
    const before = await eventTypes();
    expect(await configure()).toMatchObject({ reason: 'UNCHANGED', version: 1, features_changed: 0 });
    await harness.restart();
    expect(await configure()).toMatchObject({ reason: 'UNCHANGED' });
    expect(await eventTypes()).toEqual(before);
  });

  test('writes only the features that changed, and keeps features whose files are gone', async () => {
    const { harness, configure, eventTypes } = await openUnconfigured();
    await configure();
    const { 'features/active/REQ-F-D.yml': _, ...otherFiles } = FILES;
    const changed = {
      ...otherFiles,
      'features/active/REQ-F-A.yml': `${featureFile('REQ-F-A')}priority: high\n`,
    };
    expect(await configure(changed)).toMatchObject({ reason: 'CONFIGURED', version: 1, features_changed: 1 });
    expect((await eventTypes()).slice(6)).toEqual(['FEATURE_CHANGED']);
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    expect(await alpha.claim('REQ-F-D#design_code')).toMatchObject({ reason: 'GRANTED' });
  });

  test('accepts more features than fit in a transaction, and a repeated request has one effect', async () => {
    const { harness, configure } = await openUnconfigured();
    const many = Object.fromEntries(
      Array.from({ length: 75 }, (_, n) => [`features/active/REQ-F-M-${n}.yml`, featureFile(`REQ-F-M-${n}`)]),
    );
    const first = await configure(many, { request_id: 'r1' });
    expect(first).toMatchObject({ reason: 'CONFIGURED', features_changed: 75 });
    await configure({ ...many, 'features/active/REQ-F-M-1.yml': featureFile('REQ-F-M-1', 'poc') });
    const before = await harness.position();
    expect(await configure(many, { request_id: 'r1' })).toEqual(first);
    expect(await harness.position()).toBe(before);
    const other = await harness.coordinator.settings.configure(PROJECT_KEY, { files: {}, request_id: 'r1' });
    expect(other).toMatchObject({ problem: 'IDEMPOTENCY_CONFLICT' });
  });

  test('changes nothing if a file has faults that everything depends on, and reports their locations', async () => {
    const { harness } = await openUnconfigured();
    const files = { ...FILES, 'agent_roles.yml': 'agent_roles:\n  architect: 7\n' };
    const reply = await harness.coordinator.settings.configure(PROJECT_KEY, { files });
    expect(reply).toMatchObject({
      problem: 'INVALID_METHODOLOGY',
      detail: expect.stringMatching(/^agent_roles\.yml:\d+:\d+: .*[^.]\. Nothing was changed\.$/),
      faults: [{ file: 'agent_roles.yml', line: expect.any(Number), column: expect.any(Number) }],
    });
    expect(await harness.position()).toBe(0);
  });

  test('uses the other files if one profile has faults or a feature is unreadable, and reports both', async () => {
    const { harness } = await openUnconfigured();
    const files = { ...FILES, 'profiles/broken.yml': 'profile: broken\ngraph:\n  include: 7\n' };
    const unreadable = { 'features/active/REQ-F-X-001.yml': 'It is a link that leaves the project.' };
    const reply = await harness.coordinator.settings.configure(PROJECT_KEY, { files, unreadable });
    expect(reply).toMatchObject({
      reason: 'CONFIGURED',
      faults: [
        { file: 'features/active/REQ-F-X-001.yml', message: expect.stringContaining('leaves the project') },
        { file: 'profiles/broken.yml', line: 3, column: expect.any(Number) },
      ],
    });
  });

  test('sets the claim policy, which an admin can override until the files change', async () => {
    const { harness, configure } = await openUnconfigured();
    const { coordinator } = harness;
    const currentPolicy = async () => unwrap(await coordinator.settings.getPolicy(PROJECT_KEY));
    const filesWithClaims = (claims: object) => ({
      ...FILES,
      'coordination.yml': coordinationConfig({ claims }),
    });
    await harness.plan(planOf('A-001-x'));
    unwrap(await coordinator.settings.putPolicy(PROJECT_KEY, { claim_ttl_seconds: 700 }));
    await configure(
      filesWithClaims({ stale_threshold_seconds: 60, on_ttl: 'takeover', max_hold_seconds: 900 }),
    );
    expect(await currentPolicy()).toMatchObject({
      stale_threshold_seconds: 60,
      claim_ttl_seconds: 700,
      max_hold_seconds: 900,
      stale_policy: { task: 'takeover', edge: 'takeover' },
    });
    await coordinator.settings.putPolicy(PROJECT_KEY, { stale_threshold_seconds: 90 });
    await configure(filesWithClaims({ stale_threshold_seconds: 60 }));
    expect(await currentPolicy()).toMatchObject({
      stale_threshold_seconds: 90,
      max_hold_seconds: null,
      stale_policy: { edge: 'hold' },
    });
  });
});
