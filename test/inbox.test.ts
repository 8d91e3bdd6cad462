import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { Coordinator } from '../src/coordinator/index.js';
import { canonicalJson } from '../src/core/canonical-json.js';
import type { EventEnvelope } from '../src/core/events/envelope.js';
import { startServer } from '../src/server/server.js';
import { openMemoryStore } from '../src/stores/memory/memory-store.js';
import { watchInboxes } from '../src/workspace/inbox/watch.js';
import {
  bareWorkspace,
  KEY,
  readOutcome,
  WorkspaceHarness,
  writeInboxCommand,
} from '../src/workspace/testing/workspace-harness.js';
import { personCaller } from './support/agent.js';
import { unwrap } from './support/coordinator-harness.js';
import { FrozenTime } from './support/frozen-time.js';
import { coordinationConfig, evaluatorReport, FILES, featureFile } from './support/workspace-files.js';

const run = promisify(execFile);
const FEATURE_AND_EDGE = { feature: 'REQ-F-AUTH-001', edge: 'design→code' };
const SUBJECT = 'REQ-F-AUTH-001#design→code';

// req: EDG-018, INB-001, INB-008, INB-009
test('a bash agent completes an edge, and the claim of a second agent is rejected', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const stopController = new AbortController();
  const watching = watchInboxes({
    eventsFolder: workspace.events,
    serialiser: harness.serialiser,
    signal: stopController.signal,
    warn: (sentence) => expect.unreachable(sentence),
  });
  const agent = (GENESIS_AGENT: string) =>
    run('bash', ['examples/inbox-bash/agent.sh', 'REQ-F-AUTH-001', 'design_code'], {
      env: { ...process.env, GENESIS_AGENT, GENESIS_WORKSPACE: workspace.folder },
    });
  expect((await agent('one')).stdout).toBe('REQ-F-AUTH-001 design_code generation 1: ACCEPTED\n');
  await expect(agent('two')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('claim refused'),
  });
  stopController.abort();
  await watching;
  expect(await harness.edgeHistory()).toEqual([
    'edge_started one 1',
    'heartbeat one 1',
    'iteration_completed one 1',
    'edge_converged one 1',
    'claim_rejected two 1',
  ]);
});

test('a bash agent that gets no answer reports what it is waiting for', async () => {
  const { folder } = await bareWorkspace();
  const agent = spawn('bash', ['examples/inbox-bash/agent.sh', 'REQ-F-AUTH-001', 'design_code'], {
    env: { ...process.env, GENESIS_WORKSPACE: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  // Kills the process group, including the shell that it waits in.
  onTestFinished(() => void process.kill(-Number(agent.pid)));
  const [reply] = await once(agent.stderr, 'data');
  expect(String(reply)).toContain('is gen serialise --watch or gen up running here?');
});

/** Everything except generated values (ids, times, sessions), the address that only HTTP has, and the credential. */
function comparableEvents(events: readonly EventEnvelope[]): object[] {
  return events.map(({ event_type, subject, agent_id, agent_role, generation, seq, payload }) => {
    const {
      expires_at: _,
      result_id: __,
      metadata: ___,
      expired_at: ____,
      until: _____,
      principal: ______,
      record,
      ...otherFields
    } = payload;
    return {
      event_type,
      subject: subject?.replace(/^~session.*/, '~session'),
      agent_id,
      agent_role,
      generation,
      seq,
      other_fields: otherFields,
      opens_session: record !== undefined,
    };
  });
}

/**
 * One step of a scenario. Besides inbox commands: `decision` is a review by a person, which bypasses the inbox, and `seconds`
 * advances the time.
 */
type InboxStep = readonly [who: string, command: Record<string, unknown>];
type InboxRun = {
  readonly perform: (step: InboxStep, at: number) => Promise<string>;
  readonly events: () => Promise<EventEnvelope[]>;
};

/** Advances the time and sweeps; returns the type of the last event. */
const advanceAndSweep = async (
  time: FrozenTime,
  seconds: number,
  coordinator: Coordinator,
  events: InboxRun['events'],
) => {
  time.advance(seconds);
  await coordinator.sweep();
  return (await events()).at(-1)?.event_type ?? '';
};
const reviewOf = ({ decision, result, iteration }: Record<string, unknown>) => ({
  task_id: SUBJECT,
  generation: 1,
  iteration,
  decision,
  candidate_sha256: createHash('sha256').update(canonicalJson(result)).digest('hex'),
});

async function prepare(coordinator: Coordinator, files: Record<string, string>): Promise<void> {
  if (Object.keys(files).length > 0) unwrap(await coordinator.settings.configure(KEY, { files }));
  else unwrap(await coordinator.plans.put(KEY, { tracks: {} }));
}

async function throughTheInbox(time: FrozenTime, files: Record<string, string>): Promise<InboxRun> {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const { coordinator } = harness;
  await prepare(coordinator, files);
  const events = () => harness.events();
  const perform = async ([who, step]: InboxStep, at: number) => {
    if (step.seconds !== undefined) return advanceAndSweep(time, Number(step.seconds), coordinator, events);
    if (step.decision !== undefined) {
      return (
        unwrap(await coordinator.decisions.recordReview(KEY, reviewOf(step), personCaller(who))) as {
          reason: string;
        }
      ).reason;
    }
    await writeInboxCommand(workspace, who, `${at}.json`, { ...FEATURE_AND_EDGE, ...step });
    await harness.serialiser.pass();
    return (await readOutcome(workspace, who, `${at}.json`)).reply.reason;
  };
  return { perform, events };
}

async function throughHttp(time: FrozenTime, files: Record<string, string>): Promise<InboxRun> {
  const store = openMemoryStore();
  const server = await startServer({ store, port: 0 });
  onTestFinished(() => server.stop());
  await prepare(server.coordinator, files);
  const base = `${server.url}/api/tenants/${KEY.tenant_id}/projects/${KEY.project_id}`;
  const post = async (path: string, body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return ((await reply.json()) as { reason: string }).reason;
  };
  const events = () => store.events(KEY, { after: 0, limit: 1000 });
  const perform = async ([agent_id, step]: InboxStep) => {
    if (step.seconds !== undefined)
      return advanceAndSweep(time, Number(step.seconds), server.coordinator, events);
    if (step.decision !== undefined) {
      return (
        unwrap(
          await server.coordinator.decisions.recordReview(KEY, reviewOf(step), personCaller(agent_id)),
        ) as {
          reason: string;
        }
      ).reason;
    }
    const { event_type, agent_role, generation, result, ...rest } = step;
    const session_id = `sess-${agent_id}`;
    const handle = { task_id: SUBJECT, session_id };
    const edge = { feature_id: FEATURE_AND_EDGE.feature, edge: FEATURE_AND_EDGE.edge, agent_id, session_id };
    const bodies: Record<string, [string, object]> = {
      edge_claim: ['/claims', { ...edge, agent_role }],
      heartbeat: ['/claims/renew', { ...handle, expected_generation: generation }],
      edge_released: ['/claims/release', { ...handle, expected_generation: generation }],
      edge_converged: ['/results', { ...handle, generation, result_data: result, ...rest }],
      iteration_completed: ['/events', { ...edge, event_type, generation, payload: rest }],
    };
    return post(...(bodies[event_type as string] as [string, object]));
  };
  return { perform, events };
}

/** Runs the same steps through the inbox and through HTTP; expects the same replies and the same log. */
async function runBothWays(
  steps: readonly InboxStep[],
  files: Record<string, string> = {},
): Promise<string[]> {
  const time = FrozenTime.begin();
  const inbox = await throughTheInbox(time, files);
  const http = await throughHttp(time, files);
  const reasons: string[] = [];
  for (const [at, step] of steps.entries()) {
    const [one, other] = [await inbox.perform(step, at), await http.perform(step, at)];
    expect(other).toBe(one);
    reasons.push(one);
  }
  expect(comparableEvents(await http.events())).toEqual(comparableEvents(await inbox.events()));
  return reasons;
}

// req: EVT-010, INB-005, INB-013
test('the flow of specification 002 produces the same log through the inbox and through HTTP', async () => {
  const reasons = await runBothWays([
    ['a-01', { event_type: 'edge_claim', agent_role: 'architect' }],
    ['b-01', { event_type: 'edge_claim', agent_role: 'architect' }],
    ['b-01', { event_type: 'edge_released', generation: 1 }],
    ['a-01', { event_type: 'heartbeat', generation: 1 }],
    [
      'a-01',
      { event_type: 'iteration_completed', generation: 1, iteration: 1, status: 'iterating', delta: 1 },
    ],
    ['a-01', { event_type: 'edge_released', generation: 1 }],
    ['b-01', { event_type: 'edge_claim', agent_role: 'architect' }],
    ['a-01', { event_type: 'edge_converged', generation: 1, result: { asset: 'late' } }],
    ['b-01', { event_type: 'edge_converged', generation: 2, iteration: 2, result: { asset: 'code' } }],
  ]);
  expect(reasons).toEqual([
    'GRANTED',
    'DENIED_ACTIVE_CLAIM',
    'SESSION_MISMATCH',
    'RENEWED',
    'APPENDED',
    'RELEASED',
    'GRANTED',
    'STALE_GENERATION',
    'ACCEPTED',
  ]);
});

/**
 * Specification 000: acquire, heartbeat, a silent holder whose claim only a person ends, and convergence outside the
 * authority of a role.
 */
// req: INB-013, ROL-002, STL-003
test('the lifecycle of specification 000 produces the same log through the inbox and through HTTP', async () => {
  const files = {
    ...FILES,
    'features/active/REQ-F-AUTH-001.yml': featureFile(FEATURE_AND_EDGE.feature),
    'coordination.yml': coordinationConfig({ claims: { stale_threshold_seconds: 1, on_ttl: 'hold' } }),
  };
  const done = { iteration: 2, result: { asset: 'code' } };
  const reasons = await runBothWays(
    [
      ['sf-exec-abc123', { event_type: 'edge_claim', agent_role: 'tdd_engineer' }],
      ['cicd-pipeline-42', { event_type: 'edge_claim', agent_role: 'architect' }],
      ['sf-exec-abc123', { event_type: 'heartbeat', generation: 1 }],
      ['', { seconds: 1 }],
      ['cicd-pipeline-42', { event_type: 'edge_claim', agent_role: 'architect' }],
      ['sf-exec-abc123', { event_type: 'edge_converged', generation: 1, ...done, ...evaluatorReport() }],
      ['rita', { decision: 'APPROVED', ...done }],
    ],
    files,
  );
  expect(reasons).toEqual([
    'GRANTED',
    'DENIED_ACTIVE_CLAIM',
    'RENEWED',
    'claim_expired',
    'DENIED_ACTIVE_CLAIM',
    'ESCALATED',
    'APPROVED',
  ]);
});

// req: STL-008
test('every message of the holder is a sign of life, and none changes the end of the lease', async () => {
  const time = FrozenTime.begin();
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const { coordinator, serialiser } = harness;
  const send = async (name: string, fields: object) => {
    await writeInboxCommand(workspace, 'one', name, { ...FEATURE_AND_EDGE, ...fields });
    await serialiser.pass();
  };
  await send('1.json', { event_type: 'edge_claim' });
  const leaseEnd = async () => unwrap(await coordinator.queries.getTaskState(KEY, SUBJECT)).claim?.expires_at;
  const granted = await leaseEnd();
  for (const iteration of [1, 2, 3]) {
    time.advance(1700);
    await send(`i${iteration}.json`, {
      event_type: 'iteration_completed',
      generation: 1,
      iteration,
      status: 'iterating',
    });
    await coordinator.sweep();
  }
  expect(await leaseEnd()).toBe(granted);
  const types = (await harness.events())
    .filter(({ edge }) => edge !== undefined)
    .map(({ event_type }) => event_type);
  const ofIteration = ['heartbeat', 'iteration_completed'];
  expect(types).toEqual(['edge_started', ...ofIteration, ...ofIteration, ...ofIteration]);
});
