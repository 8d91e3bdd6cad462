import { expect, it } from 'vitest';
import { DEFAULT_POLICY, ENTERPRISE_LIMITS } from '../../core/claims/policy.js';
import { startPlannedHarness } from '../testing/cli-harness.js';
import { runGen } from '../testing/terminal.js';

// req: LIM-007
it('shows the limits with default and meaning, and sets several at once', async () => {
  const { terminal } = await startPlannedHarness();
  const shown = await runGen(terminal, 'limits');
  expect(shown.out).toMatch(/max_concurrent_claims +1000 +100 +claims that a tenant holds/);
  expect(shown.out).toMatch(/min_lease_duration_seconds +1 +30 /);
  const set = await runGen(
    terminal,
    'limits',
    'max_concurrent_claims=5',
    'require_signatures=false',
    '--json',
  );
  const expected = { ...ENTERPRISE_LIMITS, min_lease_duration_seconds: 1, max_concurrent_claims: 5 };
  expect([set.code, JSON.parse(set.out)]).toEqual([0, expected]);
  expect(JSON.parse((await runGen(terminal, 'limits', '--json')).out)).toEqual(expected);
});

it('shows the policy and sets it, also by track and by kind', async () => {
  const { terminal } = await startPlannedHarness();
  expect(JSON.parse((await runGen(terminal, 'policy', '--json')).out)).toEqual(DEFAULT_POLICY);
  const set = await runGen(
    terminal,
    'policy',
    'max_agents_per_track.A=2',
    'max_agents_per_track.B=1',
    'stale_policy.task=hold',
    'late_submit=reject',
  );
  expect(set.out).toMatch(/max_agents_per_track +A=2 B=1 +null +agents that work in one track/);
  expect(set.out).toMatch(/stale_policy +task=hold edge=hold +task=takeover edge=hold/);
  const removed = await runGen(terminal, 'policy', 'max_agents_per_track.A=null', '--json');
  expect(JSON.parse(removed.out)).toEqual({
    ...DEFAULT_POLICY,
    max_agents_per_track: { B: 1 },
    stale_policy: { task: 'hold', edge: 'hold' },
    late_submit: 'reject',
  });
});

it('refuses an unknown name and suggests the closest name, and refuses a wrong value and names its limit', async () => {
  const { terminal } = await startPlannedHarness();
  const before = (await runGen(terminal, 'limits', '--json')).out;
  for (const [name, typo] of [
    ['limits', 'max_concurent_claims=5'],
    ['policy', 'max_atempts=5'],
  ] as const) {
    const unknown = await runGen(terminal, name, typo);
    expect(unknown.code).toBe(2);
    expect(unknown.err).toMatch(/Did you mean max_(concurrent_claims|attempts)\?/);
  }
  for (const text of ['max_concurrent_claims', '=5', 'max_concurrent_claims.A=5']) {
    expect([text, (await runGen(terminal, 'limits', text)).code]).toEqual([text, 2]);
  }
  const tooLarge = await runGen(terminal, 'limits', 'max_active_sessions=9999999');
  expect([tooLarge.code, tooLarge.err]).toEqual([2, expect.stringContaining('1000000')]);
  const track = await runGen(terminal, 'policy', 'max_agents_per_track.A=0');
  expect([track.code, track.err]).toEqual([2, expect.stringMatching(/max_agents_per_track.A: .*>=1/)]);
  expect((await runGen(terminal, 'limits', '--json')).out).toBe(before);
});

// req: PLN-006
it('shows the meaning of the standard tracks in the plan and in the status', async () => {
  const { terminal } = await startPlannedHarness();
  const plan = await runGen(terminal, 'plan', 'show');
  expect(plan.out).toContain('Track A  Core Architecture: Foundation, framework, core modules');
  const status = await runGen(terminal, 'status');
  expect(status.out).toMatch(/^B +Data Layer +0 +0 +1$/m);
});
