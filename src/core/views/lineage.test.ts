import { describe, expect, it } from 'vitest';
import { lineageOf, lineageTable } from './lineage.js';
import { parkedResults, pastGrant, resultsOf } from './results.js';
import { claimBy, submitBy } from './testing/command-steps.js';
import { ProjectHistory, T0_MS } from './testing/project-history.js';

const TASK = 'A-001-core';
const worker = (agent_id: string, session_id: string) =>
  ({ agent_id, session_id, agent_role: null }) as never;
const minute = (n: number) => T0_MS + n * 60_000;
const iso = (n: number) => new Date(minute(n)).toISOString();

/** Two holders go silent, a third completes the task, then both submit their results. */
function threeGenerations(): ProjectHistory {
  const history = new ProjectHistory();
  const setMinute = (n: number) => {
    history.now_ms = minute(n);
  };
  const submit = (generation: number, session_id: string) =>
    history.command(TASK, submitBy(history, TASK, { generation, session_id, claim_id: null }));
  setMinute(0);
  history.command(TASK, claimBy(worker('agent-A', 'sess-001')));
  setMinute(6);
  history.command(TASK, claimBy(worker('agent-B', 'sess-002')));
  setMinute(9);
  history.command(TASK, claimBy(worker('agent-C', 'sess-003')));
  setMinute(9.5);
  submit(3, 'sess-003');
  setMinute(18);
  submit(2, 'sess-002');
  setMinute(20);
  submit(1, 'sess-001');
  return history;
}

describe('the lineage of a task', () => {
  // req: QRY-004, QRY-005
  it('has a row for each generation and lists refused results', () => {
    const table = lineageTable(lineageOf(TASK, threeGenerations().eventsOf(TASK)));
    const lineageRow = (
      generation: number,
      letter: string,
      acquired: number,
      released: number,
      result: string,
    ) => ({
      generation,
      session: `sess-00${generation}`,
      agent: `agent-${letter}`,
      user: `user-of-sess-00${generation}`,
      acquired: iso(acquired),
      released: iso(released),
      result,
    });
    expect(table.rows).toEqual([
      lineageRow(1, 'A', 0, 1, 'EXPIRED'),
      lineageRow(2, 'B', 6, 7, 'EXPIRED'),
      lineageRow(3, 'C', 9, 9.5, 'ACCEPTED'),
    ]);
    expect(table.rejected).toEqual([
      {
        session: 'sess-002',
        agent: 'agent-B',
        submitted: iso(18),
        generation: 2,
        current_generation: 3,
        reason: 'STALE_GENERATION',
      },
      {
        session: 'sess-001',
        agent: 'agent-A',
        submitted: iso(20),
        generation: 1,
        current_generation: 3,
        reason: 'STALE_GENERATION',
      },
    ]);
  });

  // req: CLM-012, PLN-014
  it('has the history fields with the names of the contract', () => {
    const history = threeGenerations();
    const { generations, rejected, task_id } = lineageOf(TASK, history.eventsOf(TASK));
    expect(task_id).toBe(TASK);
    expect(generations[2]).toEqual({
      id: history.eventsOf(TASK).find((event) => event.generation === 3)?.event_id,
      tenant_id: 'acme',
      project_id: 'shop',
      task_id: TASK,
      track: 'A',
      sequence: 1,
      generation: 3,
      session_id: 'sess-003',
      agent_id: 'agent-C',
      user_id: 'user-of-sess-003',
      acquired_at: iso(9),
      released_at: iso(9.5),
      release_reason: 'COMPLETED',
      result_accepted: true,
      work_product_ref: expect.stringMatching(/^wp-A-001-core-gen3-/),
      adopted_from: null,
    });
    expect(rejected[1]).toMatchObject({
      accepted: false,
      rejection_reason: 'STALE_GENERATION',
      result_data: { text: 'done' },
      parked: true,
      generation: 1,
    });
  });

  it('shows a live claim as in progress, even if it is stale', () => {
    const edge = 'REQ-F-AUTH-001#design_code';
    const history = new ProjectHistory();
    history.command(edge, claimBy(worker('ada', 's-1')));
    history.now_ms += 3_600_000;
    expect(history.command(edge, { type: 'expire' })).toBe('STALE');
    const { rows } = lineageTable(lineageOf(edge, history.eventsOf(edge)));
    expect(rows).toMatchObject([{ generation: 1, released: null, result: 'IN_PROGRESS' }]);
  });

  it('lets an accepted late result override an expiry', () => {
    const history = new ProjectHistory();
    history.command(TASK, claimBy(worker('ada', 's-1')));
    history.now_ms += 120_000;
    expect(history.command(TASK, { type: 'expire' })).toBe('EXPIRED');
    const handle = { generation: 1, session_id: 's-1', claim_id: null };
    expect(history.command(TASK, submitBy(history, TASK, handle))).toBe('ACCEPTED');
    const { generations } = lineageOf(TASK, history.eventsOf(TASK));
    expect(generations).toMatchObject([{ release_reason: 'COMPLETED', result_accepted: true }]);
  });

  // req: CLM-011
  it('has the release reason of each ended claim', () => {
    const history = new ProjectHistory();
    const operatorBody = (expected_generation: number) => ({ expected_generation, reason: 'r', by: 'olga' });
    const handleOf = (generation: number) => ({ generation, session_id: 's-1', claim_id: null });
    const claim = () => history.command(TASK, claimBy(worker('ada', 's-1')));
    claim();
    history.command(TASK, { type: 'release', handle: handleOf(1), reason: 'VOLUNTARY', message: null });
    claim();
    history.command(TASK, { type: 'release', handle: handleOf(2), reason: 'ERROR', message: 'broke' });
    history.now_ms += 60_000;
    claim();
    history.command(TASK, { type: 'force_release', ...operatorBody(3) });
    claim();
    history.command(TASK, { type: 'release', handle: handleOf(4), reason: 'SESSION_CLOSED', message: null });
    claim();
    const { type: _, ...to } = claimBy(worker('bob', 's-2'));
    history.command(TASK, { type: 'reassign', ...operatorBody(5), to });
    const { generations } = lineageOf(TASK, history.eventsOf(TASK));
    expect(generations.map((entry) => entry.release_reason)).toEqual([
      'VOLUNTARY',
      'ERROR',
      'FORCED',
      'SESSION_CLOSED',
      'SUPERSEDED',
      null,
    ]);
  });
});

describe('the results of a task', () => {
  // req: RES-007, RES-011
  it('include accepted and refused ones with their data', () => {
    const results = resultsOf(threeGenerations().eventsOf(TASK));
    expect(results.map(({ generation, accepted }) => [generation, accepted])).toEqual([
      [3, true],
      [2, false],
      [1, false],
    ]);
    expect(results.every((result) => (result.result_data as { text: string }).text === 'done')).toBe(true);
  });

  it('are parked when refused, until they are adopted', () => {
    const history = threeGenerations();
    const [resultToAdopt, otherParked] = parkedResults(history.eventsOf(TASK));
    history.command(TASK, { type: 'reset', expected_generation: 3, reason: 'r', by: 'olga' });
    const grant = pastGrant(history.eventsOf(TASK), 2)!;
    const { result } = submitBy(history, TASK, { generation: 2, session_id: 'sess-002', claim_id: null });
    const adoptFields = {
      expected_generation: 3,
      reason: 'better',
      by: 'olga',
      session_id: 's-op',
      request_id: null,
    };
    const { generation, agent_id, session_id } = grant;
    const from = { result_id: result.result_id, generation, agent_id, session_id };
    expect(history.command(TASK, { type: 'adopt', ...adoptFields, adopted: { from, result } })).toBe(
      'ADOPTED',
    );
    expect(resultToAdopt?.id).toBe(result.result_id);
    expect(parkedResults(history.eventsOf(TASK))).toEqual([otherParked]);
    const { generations } = lineageOf(TASK, history.eventsOf(TASK));
    expect(generations.at(-1)?.adopted_from).toMatchObject({ generation: 2, agent_id: 'agent-B' });
  });

  it('belong only to grants that are in the log', () => {
    const events = threeGenerations().eventsOf(TASK);
    expect(pastGrant(events, 2)).toEqual({
      generation: 2,
      agent_id: 'agent-B',
      session_id: 'sess-002',
      agent_role: null,
      request_id: null,
      claimed_at_ms: minute(6),
    });
    expect(pastGrant(events, 4)).toBeNull();
  });
});
