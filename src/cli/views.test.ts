import { expect, it } from 'vitest';
import { startPlannedHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

it('shows the past with --at: status, agents, plan, task and its history', async () => {
  const { terminal } = await startPlannedHarness();
  const earlierStatus = JSON.parse((await runGen(terminal, 'status', '--json')).out);
  const at = ['--at', String(earlierStatus.position)];
  await runGen(terminal, 'task', 'claim', 'A-001-schema');
  expect(JSON.parse((await runGen(terminal, 'status', '--json', ...at)).out)).toEqual(earlierStatus);
  expect((await runGen(terminal, 'agents', ...at)).out).toContain('No agent has worked');
  expect((await runGen(terminal, 'plan', 'show')).out).toContain('claimed by agent-a');
  expect((await runGen(terminal, 'plan', 'show', ...at)).out).toMatch(/A-001-schema +ready/);
  expect((await runGen(terminal, 'task', 'show', 'A-001-schema', ...at)).out).not.toContain('agent-a');
  expect(
    JSON.parse((await runGen(terminal, 'task', 'history', 'A-001-schema', '--json', ...at)).out),
  ).toMatchObject({
    generations: [],
  });
  await runGen(terminal, 'task', 'submit', 'A-001-schema', '--file', 'plan.yaml');
  expect((await runGen(terminal, 'task', 'result', 'A-001-schema')).out).toContain('project: shop');
  expect((await runGen(terminal, 'task', 'result', 'A-001-schema', ...at)).code).toBe(1);
  const ahead = await runGen(terminal, 'status', '--at', '9999');
  expect([ahead.code, ahead.err]).toEqual([1, expect.stringContaining('CURSOR_AHEAD')]);
  expect((await runGen(terminal, 'status', '--at', 'now')).code).toBe(2);
  expect((await runGen(terminal, 'status', '--watch', ...at)).code).toBe(2);
});

// req: QRY-009
it('lists the claims whose lease has ended', async () => {
  const { terminal, server } = await startPlannedHarness();
  const before = ['--before', '2000-01-01T00:00:00Z'];
  await runGen(terminal, 'policy', 'sweep_interval_seconds=1');
  await runGen(terminal, 'task', 'claim', 'A-001-schema', '--lease', '1');
  expect((await runGen(terminal, 'task', 'expired', ...before)).out).toBe('No claim has expired.\n');
  const projectKey = { tenant_id: 'default', project_id: 'shop' };
  // The sweeper records the end of the lease; waiting for its event is waiting for the end.
  for await (const { event } of server.coordinator.feed.follow(projectKey, '', AbortSignal.timeout(30_000)))
    if (event.event_type === 'CLAIM_LOST') break;
  const { code, out } = await runGen(terminal, 'task', 'expired');
  expect([code, out]).toEqual([0, expect.stringMatching(/A-001-schema +1 +agent-a .* EXPIRED /)]);
  const json = JSON.parse((await runGen(terminal, 'task', 'expired', '--json')).out);
  expect(json).toMatchObject({ claims: [{ task_id: 'A-001-schema', agent_id: 'agent-a' }], next: null });
  expect((await runGen(terminal, 'task', 'expired', '--before', 'yesterday')).code).toBe(2);
});

it('lists the events of a feature and an edge', async () => {
  const { terminal } = await startPlannedHarness();
  for (const edge of ['design_code', 'code_unit_tests'])
    await runGen(terminal, 'task', 'claim', `REQ-F-AUTH-001#${edge}`);
  const edgesOfEvents = async (...filter: string[]) =>
    JSON.parse((await runGen(terminal, 'events', '--json', ...filter)).out).events.map(
      ({ edge }: { edge?: string }) => edge,
    );
  expect(new Set(await edgesOfEvents('--feature', 'REQ-F-AUTH-001'))).toEqual(
    new Set(['design_code', 'code_unit_tests']),
  );
  expect(new Set(await edgesOfEvents('--feature', 'REQ-F-AUTH-001', '--edge', 'design→code'))).toEqual(
    new Set(['design_code']),
  );
  expect(await edgesOfEvents('--feature', 'REQ-F-NONE-001')).toEqual([]);
});

it('lists the events of an agent across projects', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'plan', 'import', 'plan.yaml', '--project', 'other');
  for (const projectId of ['shop', 'other'])
    await runGen(terminal, 'task', 'claim', 'A-001-schema', '--project', projectId, '--agent', 'agent-b');
  const { out } = await runGen(terminal, 'events', '--by', 'agent-b', '--all-projects');
  expect(out).toMatch(/^other .*CLAIM_ACQUIRED[\s\S]*^shop .*CLAIM_ACQUIRED/m);
  const page = await runGen(terminal, 'events', '--by', 'agent-b', '--all-projects', '--limit', '1');
  expect(page.out).toMatch(/More: gen events --by agent-b --all-projects --after other\/\d+/);
  expect((await runGen(terminal, 'events', '--all-projects')).code).toBe(2);
  expect((await runGen(terminal, 'events', '--all-projects', '--by', 'agent-b', '--follow')).code).toBe(2);
});
