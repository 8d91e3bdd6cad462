import { describe, expect, it } from 'vitest';
import { runAtOnce } from '../sliceable-work.js';
import { agentViews, SESSIONS_PER_AGENT_MAX, updateAgentStats } from './agents.js';
import { progressInSlices } from './progress.js';
import { foldProject } from './project-state.js';
import { projectStatus } from './status.js';
import { taskStateIn } from './task-state.js';
import { claimBy, submitBy, WORKERS } from './testing/command-steps.js';
import { ProjectHistory, T0_MS } from './testing/project-history.js';

const [ada, , bob] = WORKERS;
const EDGE = 'REQ-F-AUTH-001#design_code';
const iso = (seconds: number) => new Date(T0_MS + seconds * 1000).toISOString();
const handleOf = (session_id: string, generation = 1) => ({ generation, session_id, claim_id: null });
const operatorFields = (expected_generation: number) => ({
  expected_generation,
  reason: 'look first',
  by: 'olga',
});
const statusOf = (history: ProjectHistory) =>
  projectStatus(foldProject(history.events), history.foldContext());

/** One completed task, one claimed, one on hold, and a stale edge. */
function busyProject(): ProjectHistory {
  const history = new ProjectHistory();
  history.command(EDGE, claimBy(ada));
  history.now_ms += 130_000;
  history.command('A-001-core', claimBy(ada));
  history.command('A-001-core', submitBy(history, 'A-001-core', handleOf('s-1')));
  history.command('A-002-shell::1', claimBy(bob));
  history.command('B-001-schema', { type: 'hold', ...operatorFields(0) });
  return history;
}

describe('the progress of a plan', () => {
  it('counts every subject of a track once', () => {
    const history = busyProject();
    expect(runAtOnce(progressInSlices(foldProject(history.events), history.foldContext()))).toEqual({
      tracks: {
        A: { completed: 1, in_progress: 1, pending: 2 },
        B: { completed: 0, in_progress: 0, pending: 1 },
      },
      total: { completed: 1, in_progress: 1, pending: 3 },
    });
  });

  it('counts a lapsed claim as pending even if its expiry is not recorded', () => {
    const history = busyProject();
    history.now_ms += 61_000;
    const { tracks } = runAtOnce(progressInSlices(foldProject(history.events), history.foldContext()));
    expect(tracks.A).toEqual({ completed: 1, in_progress: 0, pending: 3 });
    expect(statusOf(history).claims.map(({ task_id }) => task_id)).toEqual([EDGE]);
  });
});

describe('the status of a project', () => {
  it('shows the log position, the live claims, and what waits for whom', () => {
    const history = busyProject();
    const status = statusOf(history);
    expect(status).toMatchObject({
      tenant_id: 'acme',
      project_id: 'shop',
      position: history.events.length,
      last_updated: iso(130),
      total: { completed: 1, in_progress: 1, pending: 3 },
      parked: [],
    });
    expect(status.counts).toEqual({
      completed: 1,
      held: 1,
      suspended: 0,
      stale: 1,
      claimed: 1,
      blocked: 1,
      backoff: 0,
      exhausted: 0,
      ready: 1,
    });
    expect(status.claims.map(({ task_id, agent_id }) => [task_id, agent_id])).toEqual([
      ['A-002-shell::1', 'bob'],
      [EDGE, 'ada'],
    ]);
    expect(status.waiting).toEqual([
      {
        task_id: 'B-001-schema',
        readiness: 'held',
        waits_for: 'a person to unhold it',
        reason: 'look first',
      },
      {
        task_id: EDGE,
        readiness: 'stale',
        waits_for: 'ada, or a person to release it',
        reason: `ada holds it and has been inactive since ${iso(0)}`,
      },
    ]);
  });

  it('lists an open gate and a task without generations left', () => {
    const history = new ProjectHistory();
    for (let generation = 1; generation <= 6; generation++) {
      history.command('A-001-core', claimBy(ada));
      const release = { type: 'release', reason: 'VOLUNTARY', message: null } as const;
      history.command('A-001-core', { ...release, handle: handleOf('s-1', generation) });
    }
    history.command(EDGE, claimBy(bob));
    history.command(EDGE, submitBy(history, EDGE, handleOf('s-2'), { authority: 'escalate' }));
    const { waiting } = statusOf(history);
    expect(waiting.map(({ readiness, waits_for }) => [readiness, waits_for])).toEqual([
      ['exhausted', 'an admin to raise max_generations_per_task'],
      ['suspended', 'a person to review it'],
    ]);
    expect(waiting[0]?.reason).toBe('generation 6 is the last of the 6 allowed');
  });

  it('shows the past by folding up to a position', () => {
    const history = busyProject();
    const grant = history.events.find((event) => event.event_type === 'CLAIM_ACQUIRED')!;
    const pastStatus = projectStatus(
      foldProject(history.events.slice(0, grant.position)),
      history.foldContext(),
    );
    expect(pastStatus.position).toBe(grant.position);
    expect(pastStatus.total).toEqual({ completed: 0, in_progress: 1, pending: 4 });
  });

  it('counts only refused results that are parked', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    history.now_ms += 61_000;
    history.command('A-001-core', claimBy(bob));
    history.command('A-001-core', submitBy(history, 'A-001-core', handleOf('s-1')));
    expect(statusOf(history).parked).toEqual([{ task_id: 'A-001-core', parked: 1 }]);
    const last = history.events.at(-1)!;
    history.events[last.position - 1] = { ...last, payload: { ...last.payload, parked: false } };
    expect(statusOf(history).parked).toEqual([]);
  });
});

describe('the state of a task', () => {
  const stateOf = (history: ProjectHistory, subject: string) =>
    taskStateIn(foldProject(history.events), subject, history.foldContext());

  it('is ready and empty before the first claim', () => {
    expect(stateOf(new ProjectHistory(), 'A-001-core')).toEqual({
      task_id: 'A-001-core',
      phase: 'OPEN',
      readiness: 'ready',
      generation: 0,
      claim: null,
      result: null,
      waiting_for: [],
      parked: 0,
    });
  });

  it('shows the claim without its claim id, which only its holder knows', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    expect(stateOf(history, 'A-001-core').claim).toEqual({
      tenant_id: 'acme',
      project_id: 'shop',
      task_id: 'A-001-core',
      track: 'A',
      sequence: 1,
      agent_id: 'ada',
      session_id: 's-1',
      generation: 1,
      state: 'ACTIVE',
      claimed_at: iso(0),
      lease_duration_seconds: 60,
      expires_at: iso(60),
      work_product_ref: null,
      metadata: {},
    });
  });

  it('shows a claim as expired from the moment it can be taken over', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    history.now_ms += 60_000;
    const { readiness, claim } = stateOf(history, 'A-001-core');
    expect([readiness, claim?.state]).toEqual(['ready', 'EXPIRED']);
  });

  it('has the work product of the accepted claim until a reset', () => {
    const history = busyProject();
    const completedState = stateOf(history, 'A-001-core');
    expect(completedState.claim).toMatchObject({
      state: 'RELEASED',
      work_product_ref: completedState.result?.work_product_ref,
    });
    expect(completedState.result).toMatchObject({ generation: 1, agent_id: 'ada', submitted_at: iso(130) });
    history.command('A-001-core', { type: 'reset', ...operatorFields(1) });
    const stateAfterReset = stateOf(history, 'A-001-core');
    expect([stateAfterReset.phase, stateAfterReset.result, stateAfterReset.claim?.work_product_ref]).toEqual([
      'OPEN',
      null,
      null,
    ]);
  });

  it('lists its open dependencies', () => {
    const { readiness, waiting_for } = stateOf(new ProjectHistory(), 'A-002-shell');
    expect([readiness, waiting_for]).toEqual(['blocked', ['A-002-shell::1', 'A-002-shell::2']]);
  });
});

describe('the agents of a project', () => {
  it('are summarised from their own actions', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    history.command('A-001-core', claimBy(bob));
    history.now_ms += 61_000;
    history.command('A-001-core', claimBy(bob));
    history.command('A-001-core', submitBy(history, 'A-001-core', handleOf('s-1')));
    history.command('A-001-core', submitBy(history, 'A-001-core', handleOf('s-2', 2)));
    history.now_ms += 1000;
    history.command(EDGE, claimBy(bob));
    history.now_ms += 1000;
    history.command(EDGE, { type: 'force_release', ...operatorFields(1) });
    history.command(EDGE, { type: 'hold', ...operatorFields(1) });
    history.command('A-001-core', { type: 'reset', ...operatorFields(2) });
    expect(agentViews(foldProject(history.events))).toEqual([
      {
        agent_id: 'ada',
        role: 'full_stack',
        sessions: ['s-1'],
        claims: [],
        completed: 0,
        rejected: 1,
        denied: 0,
        last_activity: iso(61),
      },
      {
        agent_id: 'bob',
        role: null,
        sessions: ['s-2'],
        claims: [],
        completed: 1,
        rejected: 0,
        denied: 1,
        last_activity: iso(62),
      },
    ]);
  });

  it('are shown with their claims and their latest sessions', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(ada));
    const state = foldProject(history.events);
    const last = history.events.at(-1)!;
    updateAgentStats(state.agents, { ...last, session_id: 'first' });
    updateAgentStats(state.agents, last);
    for (let n = 1; n < SESSIONS_PER_AGENT_MAX; n++) {
      updateAgentStats(state.agents, { ...last, session_id: `later-${n}` });
    }
    const [view] = agentViews(state);
    expect(view?.claims).toEqual(['A-001-core']);
    expect(view?.sessions).toHaveLength(SESSIONS_PER_AGENT_MAX);
    expect(view?.sessions[0]).toBe('s-1');
    expect(view?.sessions.at(-1)).toBe(`later-${SESSIONS_PER_AGENT_MAX - 1}`);
  });
});
