import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../server/server.js';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import { startHarness, startPlannedHarness } from './testing/cli-harness.js';
import { runGen, startCommand } from './testing/terminal.js';

it('gen events --follow prints new events as they occur, one JSON line each', async () => {
  const { terminal } = await startPlannedHarness();
  const following = startCommand(terminal, 'events', '--follow', '--json', '--type', 'CLAIM_ACQUIRED');
  // Only an event shows that the stream is open, so produce events until one arrives.
  const eventsProduced = (async () => {
    for (let hasOutput = false; !hasOutput; ) {
      await runGen(terminal, 'next');
      await runGen(terminal, 'task', 'release', 'A-001-schema');
      hasOutput = following.text() !== '';
    }
  })();
  const text = await following.waitForOutput('\n');
  await eventsProduced;
  following.stop('SIGINT');
  expect((await following.ended).code).toBe(0);
  expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({
    event_type: 'CLAIM_ACQUIRED',
    task_id: 'A-001-schema',
  });
});

it('gen status --watch redraws the status on every change', async () => {
  const { terminal } = await startPlannedHarness();
  const watching = startCommand(
    { ...terminal, columns: 100, env: { ...terminal.env, NO_COLOR: '1' } },
    'status',
    '--watch',
  );
  await watching.waitForOutput('1 ready');
  await runGen(terminal, 'next');
  await watching.waitForOutput(/agent-a/);
  await runGen(terminal, 'task', 'submit', 'A-001-schema', '--data', '1');
  await watching.waitForOutput('1 completed');
  expect(watching.text()).toContain('\u001b[H\u001b[2J\u001b[3J');
  watching.stop('SIGINT');
  expect((await watching.ended).code).toBe(0);
});

it('gen events refuses to follow an unknown project, or a server that does not respond', async () => {
  const { terminal, server } = await startPlannedHarness();
  expect(await runGen(terminal, 'events', '--follow', '--project', 'shpo')).toMatchObject({
    code: 1,
    err: expect.stringContaining('There is no project shpo. Did you mean shop?'),
  });
  await server.stop();
  expect(await runGen(terminal, 'events', '--follow')).toMatchObject({
    code: 1,
    err: expect.stringContaining('UNREACHABLE'),
  });
});

it('gen events --follow says that it retries when the connection is lost, and continues when the server is back', async () => {
  const { terminal } = await startHarness();
  const store = openMemoryStore();
  const first = await startServer({ store, port: 0 });
  const env = { ...terminal.env, GENESIS_URL: first.url };
  await runGen({ ...terminal, env }, 'plan', 'import', 'plan.yaml');
  const following = startCommand(
    { ...terminal, env },
    'events',
    '--follow',
    '--since',
    '2020-01-01T00:00:00Z',
  );
  await following.waitForOutput('PLAN_CHANGED');
  await first.stop();
  await following.waitForErrorOutput(/Connection lost: .* Retrying/);
  const second = await startServer({ store, port: Number(new URL(first.url).port) });
  onTestFinished(() => second.stop());
  await following.waitForErrorOutput('Connected again.');
  await runGen({ ...terminal, env }, 'next');
  await following.waitForOutput('CLAIM_ACQUIRED');
  following.stop('SIGINT');
  const { code, err } = await following.ended;
  expect(code).toBe(0);
  expect(err.match(/Connection lost/g)).toHaveLength(1);
});
