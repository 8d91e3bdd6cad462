import { afterEach, expect, it, vi } from 'vitest';
import { verifyLog } from '../../cli/verify/verify-log.js';
import {
  bareWorkspace,
  EDGE,
  FEATURE,
  readOutcome,
  WorkspaceHarness,
  writeInboxCommand,
} from '../testing/workspace-harness.js';
import type { Workspace } from '../workspace.js';

const DAY_MS = 24 * 3600 * 1000;
const START_MS = Date.UTC(2026, 0, 1);
const claim = { event_type: 'edge_claim', feature: FEATURE, edge: EDGE };
const edgeFields = { feature: FEATURE, edge: EDGE, generation: 1 };
const completedIteration = {
  event_type: 'iteration_completed',
  ...edgeFields,
  iteration: 1,
  status: 'iterating',
};
const heartbeat = { event_type: 'heartbeat', ...edgeFields };
const released = { event_type: 'edge_released', ...edgeFields };

afterEach(() => void vi.useRealTimers());

/** Opens a serialiser for one pass while the machine's clock shows this time. */
async function serveAt(workspace: Workspace, atMs: number): Promise<string[]> {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(atMs);
  const harness = await WorkspaceHarness.open(workspace);
  await harness.serialiser.pass();
  const events = (await harness.events()).map(({ event_type, agent_id }) => `${event_type} ${agent_id}`);
  await harness.close();
  return events;
}

// req: INB-007
it('executes a command only once if its file reappears and only the log has recorded the command', async () => {
  const workspace = await bareWorkspace();
  const intent = { event_type: 'intent_raised', intent_id: 'INT-1', trigger: 'x', signal_source: 'gap' };
  const commands = [claim, completedIteration, intent, released];
  const dropAll = async () => {
    for (const [at, command] of commands.entries())
      await writeInboxCommand(workspace, 'a-01', `${at}.json`, command);
  };
  const readOutcomes = () =>
    Promise.all(
      commands.map(async (_, index) => (await readOutcome(workspace, 'a-01', `${index}.json`)).reply),
    );
  await dropAll();
  await serveAt(workspace, START_MS);
  const before = await readOutcomes();
  // An event days later makes the coordinator drop the earlier request ids.
  await writeInboxCommand(workspace, 'b-01', '1.json', { ...intent, intent_id: 'INT-2' });
  const events = await serveAt(workspace, START_MS + 3 * DAY_MS);
  await dropAll();
  expect(await serveAt(workspace, START_MS + 3 * DAY_MS)).toEqual(events);
  expect(await readOutcomes()).toEqual(before);
});

it('continues from the time of the log when the clock was set back or far ahead', async () => {
  const workspace = await bareWorkspace();
  const endMs = Date.UTC(275760, 8, 12);
  const days: readonly [number, object][] = [
    [START_MS, claim],
    [START_MS - 400 * DAY_MS, heartbeat],
    [0, { ...heartbeat, lease_duration_seconds: 60 }],
    [endMs, released],
    [START_MS, claim],
  ];
  for (const [at, [atMs, command]] of days.entries()) {
    await writeInboxCommand(workspace, 'a-01', `${at}.json`, command);
    await serveAt(workspace, atMs);
    expect(await readOutcome(workspace, 'a-01', `${at}.json`)).toMatchObject({ ok: true });
  }
  expect((await verifyLog({ folder: workspace.events }, () => {})).breaks).toEqual([]);
});

it.each([
  '+275760-09-13T00:00:00.001Z',
  '-000001-01-01T00:00:00Z',
  '0000-01-01T00:00:00Z',
  8.64e15,
  -1,
  'tomorrow',
])('ignores the timestamp that an agent sends: %j', async (at) => {
  vi.useFakeTimers({ toFake: ['Date'], now: START_MS });
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const commands = [
    { ...claim, timestamp: at },
    { ...claim, occurred_at: at },
    { ...completedIteration, timestamp: at },
    { ...completedIteration, occurred_at: at },
    { ...completedIteration, data: { occurred_at: at } },
  ];
  for (const [index, command] of commands.entries())
    await writeInboxCommand(workspace, 'a-01', `${index}.json`, command);
  const { outcomes } = await harness.serialiser.pass();
  expect(outcomes).toEqual({ GRANTED: 1, INVALID_REQUEST: 1, APPENDED: 1, INVALID_EVENT: 2 });
  const days = (await harness.events()).map(({ timestamp }) => timestamp.slice(0, 10));
  expect(new Set(days)).toEqual(new Set(['2026-01-01']));
});
