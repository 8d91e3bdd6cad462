import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, inject, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { Genesis } from '../client/index.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { runGen } from './testing/terminal.js';

const MAIN = join(inject('built'), 'dist/cli/main.js');
const EDGE = 'REQ-F-ONE-001#intent_requirements';

async function newWorkspace(): Promise<{ cwd: string; log: string }> {
  const cwd = await temporaryFolder();
  const init = ['init', '--name', 'shop', '--intent', 'Sell shoes'];
  expect((await runGen({ cwd, env: { HOME: cwd } }, ...init)).code).toBe(0);
  await writeFile(
    join(cwd, '.ai-workspace/features/active/REQ-F-ONE-001.yml'),
    'feature: REQ-F-ONE-001\ntitle: One\ntrajectory: {}\n',
  );
  return { cwd, log: join(cwd, '.ai-workspace/events/events.jsonl') };
}

async function serveWorkspace(cwd: string): Promise<{ server: ChildProcess; genesis: Genesis }> {
  const server = spawn(process.execPath, [MAIN, 'up', '--port', '0', '--json'], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void server.kill('SIGKILL'));
  const lines = createInterface({ input: server.stdout ?? process.stdin });
  const [line] = (await once(lines, 'line')) as [string];
  return { server, genesis: new Genesis({ ...JSON.parse(line), tenant: 'default', project: 'shop' }) };
}

/** Follows the log from its start until an event of this type. */
async function eventsUntil(genesis: Genesis, type: string): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  for await (const { event } of genesis.follow({})) {
    events.push(event as EventEnvelope);
    if (event.event_type === type) return events;
  }
  throw new Error('The stream ended.');
}

const foreignEventLine = (event_type: string, more: object = {}): string =>
  `${JSON.stringify({ event_type, timestamp: '2026-03-07T10:00:00Z', project: 'shop', ...more })}\n`;

/** Lines that imitate the coordinator's lines: a grant, a convergence, an approval, a key, and a seal over them. */
function imitatedLines(ownLine: string): string {
  const subject = { subject: EDGE, seq: 1, generation: 1, claim_id: 'x', feature_id: 'REQ-F-ONE-001' };
  const forgedLine = (event_type: string, payload: object) =>
    JSON.stringify({
      ...JSON.parse(ownLine),
      ...subject,
      event_id: `forged-${event_type}`,
      event_type,
      edge: 'intent_requirements',
      log: { payload_sha256: 'A'.repeat(43) },
      payload,
    });
  return [
    forgedLine('edge_started', { agent_id: 'mallory' }),
    forgedLine('edge_converged', { delta: 0 }),
    forgedLine('review_completed', { decision: 'approved' }),
    forgedLine('KEY_CREATED', { key_id: 'k', role: 'admin' }),
    `{"seal":"${'B'.repeat(43)}","lines":4,"durable":0,"at_ms":1}`,
    'not JSON at all',
    '',
  ].join('\n');
}

it('imports lines that another tool appends while gen up runs, as events that decide nothing', {
  timeout: 60_000,
}, async () => {
  const { cwd, log } = await newWorkspace();
  const { server, genesis } = await serveWorkspace(cwd);
  const ownLine = (await readFile(log, 'utf8')).split('\n')[0] as string;
  await appendFile(log, foreignEventLine('tool_started', { feature: 'REQ-F-ONE-001' }));
  await appendFile(log, imitatedLines(ownLine));
  await appendFile(log, foreignEventLine('tool_finished'));
  const events = await eventsUntil(genesis, 'tool_finished');
  const imported = events.filter(({ payload }) => payload.imported !== undefined);
  expect(imported.map(({ event_type }) => event_type)).toEqual([
    'tool_started',
    'edge_started',
    'edge_converged',
    'review_completed',
    'foreign_line',
    'foreign_line',
    'foreign_line',
    'tool_finished',
  ]);
  expect(imported.every(({ subject, seq }) => subject === undefined && seq === undefined)).toBe(true);
  const env = { HOME: cwd };
  const claimed = await runGen({ cwd, env }, 'task', 'claim', EDGE);
  expect(claimed).toMatchObject({ code: 0, out: expect.stringContaining('generation 1') });
  await appendFile(log, foreignEventLine('tool_again'));
  expect((await eventsUntil(genesis, 'tool_again')).length).toBeGreaterThan(events.length);
  server.kill('SIGTERM');
  expect(await once(server, 'exit')).toEqual([0, null]);
  expect(await runGen({ cwd, env }, 'verify')).toMatchObject({ code: 0 });
  const text = await readFile(log, 'utf8');
  await writeFile(log, text.replace('"tool_started"', '"tool_STARTED"'));
  expect(await runGen({ cwd, env }, 'verify')).toMatchObject({
    code: 1,
    out: expect.stringContaining('changed or removed'),
  });
});

it('imports lines that were appended while the log was closed; gen verify reports them until they are imported', async () => {
  const { cwd, log } = await newWorkspace();
  const env = { HOME: cwd };
  await appendFile(log, `${foreignEventLine('tool_started')}not JSON\n`);
  const before = await readFile(log, 'utf8');
  expect(await runGen({ cwd, env }, 'verify')).toMatchObject({
    code: 1,
    out: expect.stringContaining('TRAILING'),
  });
  expect(await readFile(log, 'utf8')).toBe(before);
  for (const _ of ['once', 'and not twice']) {
    const { out } = await runGen({ cwd, env }, 'events', '--json');
    const events: EventEnvelope[] = JSON.parse(out).events;
    const imported = events.filter(({ payload }) => payload.imported !== undefined);
    expect(imported.map(({ event_type }) => event_type)).toEqual(['tool_started', 'foreign_line']);
  }
  expect((await readFile(log, 'utf8')).startsWith(before)).toBe(true);
  expect(await runGen({ cwd, env }, 'verify')).toMatchObject({ code: 0 });
});
