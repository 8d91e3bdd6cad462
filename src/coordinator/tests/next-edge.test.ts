import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { coordinationConfig, FILES } from '../../../test/support/workspace-files.js';

const EDGES = { kinds: ['edge'] };
const BOTH = { kinds: ['task', 'edge'] };

forEachStore('next with edges', (open) => {
  async function openConfigured(coordination: Parameters<typeof coordinationConfig>[0] = {}) {
    const harness = await open();
    const intent = { '../specification/INTENT.md': '# Sign in\n\nPeople sign in.\n' };
    const files = { ...FILES, ...intent, 'coordination.yml': coordinationConfig(coordination) };
    unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
    const agents = ['alpha', 'beta', 'gamma', 'delta', 'omega'].map(
      (name) => new HarnessAgent(harness, name, `s-${name}`),
    );
    const recommendedEdge = async (agent_id: string) => {
      const { feature, edge } = unwrap(
        await harness.coordinator.methodology.start(PROJECT_KEY, { agent_id }),
      );
      return `${feature}#${edge}`;
    };
    return { harness, agents: agents as [HarnessAgent, ...HarnessAgent[]], recommendedEdge };
  }

  test('grants the edge that start recommends, with a lease and a briefing', async () => {
    const { agents, recommendedEdge } = await openConfigured();
    const best = await recommendedEdge('alpha');
    const granted = await agents[0].next(EDGES);
    expect(granted).toMatchObject({ reason: 'GRANTED', claim: { task_id: best, generation: 1 } });
    expect(granted.briefing?.handle.task_id).toBe(best);
  });

  test('grants only tasks unless edges are requested, and its advice says how to request edges', async () => {
    const { harness, agents } = await openConfigured();
    const nothing = await agents[0].next();
    expect(nothing).toMatchObject({ reason: 'NOTHING_READY', waiting_for: [], done: false });
    expect(nothing.next).toContain('kinds: ["edge"]');
    await harness.plan(planOf('A-001-x'));
    expect((await agents[0].next()).claim?.task_id).toBe('A-001-x');
  });

  test('puts tasks before edges of the same priority, and a track has tasks only', async () => {
    const { harness, agents } = await openConfigured();
    await harness.plan(planOf('A-001-x', { id: 'A-002-low', priority: -9 }));
    const [alpha] = agents;
    const claimedIds: (string | undefined)[] = [];
    for (let turn = 0; turn < 3; turn += 1) claimedIds.push((await alpha.next(BOTH)).claim?.task_id);
    expect(claimedIds[0]).toBe('A-001-x');
    expect(claimedIds[1]).toContain('#');
    const nothing = await alpha.next({ ...EDGES, track: 'B' });
    expect(nothing.next).toContain('There is no task in track B');
  });

  test('never grants one edge to two concurrent callers', async () => {
    const { agents } = await openConfigured();
    const replies = await Promise.all(agents.map((agent) => agent.next(EDGES)));
    const granted = replies.flatMap((reply) => reply.claim?.task_id ?? []);
    expect(new Set(granted).size).toBe(granted.length);
    expect(granted.length).toBeGreaterThan(1);
  });

  test('names the open edges when all are claimed, and is not done before all features are', async () => {
    const { agents } = await openConfigured();
    for (const agent of agents) await agent.next(EDGES);
    const late = await agents[4]?.next(EDGES);
    expect(late).toMatchObject({ reason: 'NOTHING_READY', done: false });
    const waitingFor = late?.waiting_for ?? [];
    expect(waitingFor.length).toBeGreaterThan(0);
    expect(waitingFor.every((subject) => subject.includes('#'))).toBe(true);
    expect(late?.next).not.toMatch(/completed|no task/);
  });

  test('says what open edges wait for, also to a caller that requests tasks too, unless a task is open', async () => {
    const { harness, agents } = await openConfigured();
    for (const agent of agents) await agent.next(EDGES);
    const late = new HarnessAgent(harness, 'late', 's-late');
    const { next } = await late.next(EDGES);
    expect(await late.next(BOTH)).toMatchObject({ reason: 'NOTHING_READY', next });
    await harness.plan(planOf('A-001-x'));
    await agents[0].claim('A-001-x');
    expect((await late.next(BOTH)).next).toContain('Retry when work in waiting_for is completed');
  });

  test('wakes a waiter when an edge becomes free', async () => {
    const { harness, agents } = await openConfigured();
    const held: [HarnessAgent, string][] = [];
    for (const agent of agents) {
      const { claim } = await agent.next(EDGES);
      if (claim) held.push([agent, claim.task_id]);
    }
    const waiting = new HarnessAgent(harness, 'late', 's-late').next({ ...EDGES, wait_seconds: 30 });
    await harness.coordinator.claims.claimTask(PROJECT_KEY, {
      task_id: 'Q-999-none',
      agent_id: 'x',
      session_id: 'x',
    });
    const [first, subject] = held[0] as [HarnessAgent, string];
    await first.release(subject);
    expect((await waiting).claim).toMatchObject({ task_id: subject, generation: 2, agent_id: 'late' });
  });
});
