import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import type * as Fleet from '../src/cli/demo/fleet.js';
import { DEMO_PLAN, DEMO_PROJECT } from '../src/cli/demo/plan.js';
import { findLogs } from '../src/cli/verify/find-logs.js';
import { verifyLog } from '../src/cli/verify/verify-log.js';
import { Genesis } from '../src/client/index.js';
import type { EventEnvelope } from '../src/core/events/envelope.js';
import { emptyWork, evolveWork, isPlanComplete } from '../src/core/views/index.js';

/** The built program, because from source each process would spend longer on TypeScript than on its work. */
const {
  endProcess: end,
  logFolder,
  startDemoAgent,
  startDemoServer,
} = (await import(join(inject('built'), 'dist/cli/demo/fleet.js'))) as typeof Fleet;

const AGENTS = ['ada', 'ben', 'cleo', 'dan'];
const KILLED_AFTER_RESULTS = [3, 7];

// req: PRF-008, RCV-004
test('agents continue after the server is killed and restarted: no result is lost or counted twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'killed-'));
  let server: Fleet.DemoServer = await startDemoServer(folder);
  const agents: Fleet.DemoProcess[] = [];
  onTestFinished(async () => {
    for (const process of [...agents, server]) await end(process);
    await rm(folder, { recursive: true, force: true });
  });
  const genesis = new Genesis({ url: server.url, project: DEMO_PROJECT });
  await genesis.putPlan(DEMO_PLAN);
  for (const name of AGENTS) agents.push(await startDemoAgent(name, server.url, folder));

  // Events that the stream showed before the server died were acknowledged: all of them must be there afterwards.
  const streamedEvents: EventEnvelope[] = [];
  const state = emptyWork();
  const kills = [...KILLED_AFTER_RESULTS];
  const results = () => streamedEvents.filter(({ event_type }) => event_type === 'RESULT_SUBMITTED');
  const stopController = new AbortController();
  for await (const { event } of genesis.follow({}, { signal: stopController.signal })) {
    streamedEvents.push(event);
    evolveWork(state, event);
    if (results().length === kills[0]) {
      kills.shift();
      await end(server, 'SIGKILL');
      server = await startDemoServer(folder, server.port);
    }
    if (isPlanComplete(state)) break;
  }

  expect(kills).toEqual([]);
  expect(streamedEvents.map(({ position }) => position)).toEqual(streamedEvents.map((_, index) => index + 1));
  const subjects = results().map(({ subject }) => subject);
  expect([...subjects].sort()).toEqual([...state.plan.subjects()].sort());
  const [log] = (await findLogs(join(logFolder(folder), 'default'))) ?? [];
  const loggedIds: string[] = [];
  if (log === undefined) throw new Error('No log was found.');
  const report = await verifyLog(log, () => {});
  expect(report.breaks).toEqual([]);
  const page = await genesis.events({ limit: 1000 });
  if ('events' in page) loggedIds.push(...page.events.map(({ event_id }) => event_id));
  expect(loggedIds.slice(0, streamedEvents.length)).toEqual(streamedEvents.map(({ event_id }) => event_id));
});
