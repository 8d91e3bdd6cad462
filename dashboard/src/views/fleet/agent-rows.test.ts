import { describe, expect, it } from 'vitest';
import type { TaskClaim } from '../../../../src/core/contract/claim-records.js';
import type { AgentView } from '../../../../src/core/contract/overview.js';
import { agentRows, type FleetReplies, heldState, oldestClaim, spentRatio } from './agent-rows.js';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const isoAfter = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();

const claim = (agent_id: string, leftSeconds: number | null, more: Partial<TaskClaim> = {}): TaskClaim => ({
  tenant_id: 't',
  project_id: 'p',
  task_id: `A-001-${agent_id}`,
  track: 'A',
  sequence: 1,
  agent_id,
  session_id: 's',
  generation: 1,
  state: 'ACTIVE',
  claimed_at: isoAfter(-1000),
  lease_duration_seconds: leftSeconds === null ? null : 100,
  expires_at: leftSeconds === null ? null : isoAfter(leftSeconds),
  work_product_ref: null,
  metadata: {},
  ...more,
});
const agentWith = (agent_id: string, lastActivity = -10): AgentView => ({
  agent_id,
  role: null,
  sessions: [],
  claims: [],
  completed: 0,
  rejected: 0,
  denied: 0,
  last_activity: isoAfter(lastActivity),
});
const repliesWith = (more: Partial<FleetReplies>): FleetReplies => ({
  agents: [],
  status: { claims: [], waiting: [] },
  expired: [],
  outcomes: new Map(),
  ...more,
});
const statesOf = (replies: FleetReplies) => agentRows(replies, NOW).map((row) => [row.agent_id, row.state]);

describe('a claim', () => {
  it('is suspect when two renewals are missing, and never without a lease', () => {
    expect(heldState(claim('ada', 21), false, NOW)).toBe('active');
    expect(heldState(claim('ada', 20), false, NOW)).toBe('suspect');
    expect(heldState(claim('ada', -5), false, NOW)).toBe('suspect');
    expect(heldState(claim('ada', null), false, NOW)).toBe('active');
  });

  it('is stale only if the server says so, and suspended whatever its lease is', () => {
    expect(heldState(claim('ada', 90), true, NOW)).toBe('stale');
    expect(heldState(claim('ada', 1, { state: 'SUSPENDED' }), false, NOW)).toBe('suspended');
  });

  it('has spent a share of its lease that is never below 0 or above 1', () => {
    const parts = [100, 25, -50].map((left) => spentRatio(claim('ada', left), NOW));
    expect(parts).toEqual([0, 0.75, 1]);
  });
});

describe('agents', () => {
  it('are gone if they were not active since their lease ended, and idle if they were', () => {
    const expired = [claim('ada', -60, { state: 'EXPIRED' }), claim('bob', -60, { state: 'EXPIRED' })];
    const replies = repliesWith({
      agents: [agentWith('ada', -90), agentWith('bob', -30), agentWith('cyd')],
      expired,
    });
    expect(statesOf(replies)).toEqual([
      ['ada', 'gone'],
      ['bob', 'idle'],
      ['cyd', 'idle'],
    ]);
  });

  it('are gone if their work was taken over and they were not active since', () => {
    const outcomes = new Map(
      ['ada', 'bob'].map((name) => [name, { kind: 'lost' as const, subject: 'A-001-x', at: isoAfter(-60) }]),
    );
    expect(
      statesOf(repliesWith({ agents: [agentWith('ada', -90), agentWith('bob', -30)], outcomes })),
    ).toEqual([
      ['ada', 'gone'],
      ['bob', 'idle'],
    ]);
  });

  it('are listed by what needs attention, with holders that the list of agents lacks', () => {
    const waiting = [{ task_id: 'A-001-bob', readiness: 'stale' as const, waits_for: '', reason: '' }];
    const claims = [
      claim('ada', 90),
      claim('bob', 90),
      claim('cyd', 5),
      claim('dan', 5, { state: 'SUSPENDED' }),
    ];
    expect(statesOf(repliesWith({ agents: [agentWith('eve')], status: { claims, waiting } }))).toEqual([
      ['bob', 'stale'],
      ['cyd', 'suspect'],
      ['ada', 'active'],
      ['dan', 'suspended'],
      ['eve', 'idle'],
    ]);
  });

  it('are ordered by the numbers in their names', () => {
    expect(
      statesOf(repliesWith({ agents: [agentWith('agent-10'), agentWith('agent-2')] })).map(([name]) => name),
    ).toEqual(['agent-2', 'agent-10']);
  });

  it('leave out a caller without a key, unless it holds work', () => {
    expect(statesOf(repliesWith({ agents: [agentWith('open'), agentWith('eve')] }))).toEqual([
      ['eve', 'idle'],
    ]);
    const status = { claims: [claim('open', 90)], waiting: [] };
    expect(statesOf(repliesWith({ agents: [agentWith('open')], status }))).toEqual([['open', 'active']]);
  });

  it('show a claim once, as held, if an older reply has it as lapsed', () => {
    const replies = repliesWith({
      status: { claims: [claim('ada', 90)], waiting: [] },
      expired: [claim('ada', -1)],
    });
    expect(agentRows(replies, NOW)[0]?.claims.map(({ state }) => state)).toEqual(['active']);
  });
});

it('finds the claim that is held for the longest time', () => {
  const claims = [claim('ada', 10), claim('ben', 10, { claimed_at: isoAfter(-5000) }), claim('cleo', 10)];
  expect(oldestClaim(claims)?.agent_id).toBe('ben');
  expect(oldestClaim([])).toBeNull();
});
